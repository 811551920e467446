"""The rater that --head names: heard's own scorer, a classifier in a folder, or a language model as judge."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from heard.chat_app.commands.own_head import danger_reader, encoder_folder, open_scorer, rater_name
from heard.errors import UserError

if TYPE_CHECKING:
    from heard.chat_app.common.settings import Settings
    from heard.chat_app.conversation.services import Services
    from heard.scorer.rater import Rater


class RaterError(UserError):
    """A rater that this command cannot use; `str()` names the fault and the next step."""


def is_other(name: str) -> bool:
    """Whether `name` is of another rater than heard's own scorer."""
    from heard.scorer.other_rater import JUDGE, classifier_folder

    if name.startswith(JUDGE) or classifier_folder(name) is None:
        return name.startswith(JUDGE)
    from heard.scorer.errors import ScorerError
    from heard.scorer.score import head_folder

    try:
        head_folder(name)
    except ScorerError:
        return True
    return False  # a head of that name goes before a folder of it


@contextmanager
def opened_rater(head: str, encoder: str, *, whole: bool = False) -> "Iterator[Rater]":
    """The rater of the options --head and --encoder, closed in the end. `whole`: it must give all three components.

    Raises RaterError, ScorerError, ModelsError, PromptFileError or WeightsError.
    """
    from heard.chat_app.common.settings import load_settings
    from heard.scorer.other_rater import JUDGE

    name = rater_name(head)
    if not is_other(name):
        yield open_scorer(name, encoder)
        return
    if encoder:
        raise RaterError(f"--encoder belongs to a head of heard's own, and {name} is none. Leave it out.")
    if not name.startswith(JUDGE):
        yield _classifier(name, whole=whole)
        return
    from heard.chat_app.rating.judge_thread import opened_judge
    from heard.chat_app.safety.assessment import use_head

    logging.getLogger("heard").setLevel(logging.ERROR)  # a failure is the reason why there is no score
    with opened_judge(name, load_settings()) as judge:
        # What it reads may go to a server: so nothing that the trained reader takes for a crisis either.
        encoder_folder()  # fetched now, if it is missing, and not in the middle of a file
        use_head(danger_reader())
        yield judge


def model_of_judge(name: str) -> list[str]:
    """The name of the model that judges, whose weights may have to be fetched; empty of another rater."""
    from heard.scorer.other_rater import JUDGE

    return [name.removeprefix(JUDGE)] if name.startswith(JUDGE) else []


def own_head(settings: "Settings", name: str) -> "Settings":
    """The settings with the head `name`; with the default one where `name` is of another rater.

    The services are built with it: their guard and their notes need a head of heard's own, whoever rates.
    """
    usual = type(settings).model_fields["scorer_head"].default
    return settings.model_copy(update={"scorer_head": usual if is_other(name) else name})


def with_rater(services: "Services", name: str) -> "Services":
    """The services with the rater `name` if it is not heard's own. Call it on the event loop of the services' models.

    Raises as `opened_rater`; a rater without all three components is refused.
    """
    import asyncio

    from heard.chat_app.rating.judge_thread import judge_model
    from heard.chat_app.rating.llm_judge import LlmJudge
    from heard.chat_app.safety.checked_score import CheckedRater

    if not is_other(name):
        return services
    if not model_of_judge(name):
        return replace(services, rater=_classifier(name, whole=True))
    spec = judge_model(name, services.models.specs)
    judge = LlmJudge(services.models, spec, services.library.judge, asyncio.get_running_loop())
    return replace(services, rater=CheckedRater(judge))


def _classifier(name: str, *, whole: bool) -> "Rater":
    from heard.scorer.classifier import Classifier
    from heard.scorer.other_rater import classifier_folder

    folder = classifier_folder(name)
    assert folder is not None
    classifier = Classifier.load(folder)
    if whole and classifier.missing:
        raise RaterError(
            f"{classifier.label.name} gives no {' and no '.join(classifier.missing)} empathy, and this command needs "
            "all three components. heard score shows what it gives."
        )
    return classifier
