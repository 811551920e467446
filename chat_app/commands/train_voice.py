"""`heard train-voice`: an adapter that lets a small embedded model answer as the personas' written exchanges do."""

from pathlib import Path
from typing import Annotated

import typer

from heard.chat_app.commands.progress import Progress
from heard.chat_app.commands.training_output import check_folder
from heard.errors import UserError

app = typer.Typer()
TALKS_HELP = 'JSON lines {"turns": [{"said": ..., "reply": ...}], "persona": ...}. Default: heard\'s own.'


class TrainVoiceError(UserError):
    """What keeps a training from beginning; `str()` says the next step."""


@app.command("train-voice")
def train_voice(
    out: Annotated[Path, typer.Option("--out", help="Folder of the new adapter.")],
    model: Annotated[
        str, typer.Option("--model", help="The embedded model that it is for, as `heard models list` shows it.")
    ] = "qwen2.5-coder-1.5b-instruct",
    talks: Annotated[Path | None, typer.Option("--talks", metavar="FILE", help=TALKS_HELP)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the adapter that is in the folder.")] = False,
) -> None:
    """Train an adapter (LoRA) for an embedded model on written talks: about 25 minutes on two cores for 1.5 B.

    Each talk stands in front of its persona's own prompt, without examples. A
    few talks are kept apart, and the loss on them is told. After Ctrl-C or
    kill -9 the same command goes on from the last ten steps.
    """
    import random

    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.adapter_files import write_about
    from heard.chat_app.models.embedded_models import catalogue_model
    from heard.chat_app.models.model_download import is_whole
    from heard.chat_app.voice.adapter_talks import (
        SEED,
        TALKS,
        fingerprint,
        in_two,
        read_talks,
        sequences,
        systems_of,
    )
    from heard.prompts.library import PromptLibrary

    chosen, settings = catalogue_model(model), load_settings()
    keep = out / "partial.pt"
    if not keep.exists():
        check_folder(out, force=force, holds="adapter")
    if not is_whole(chosen, settings.cache_dir):
        raise TrainVoiceError(f"{chosen.model} is not on this machine. Run `heard models get {chosen.name}`.")
    library = PromptLibrary.load(settings.prompts_dir)
    chance = random.Random(SEED)
    found = read_talks(talks or TALKS)
    systems = systems_of(library, found)
    learnt, kept = in_two(found, chance)
    try:
        from heard.chat_app.voice.train_adapter import AdapterTrainer
    except ImportError:
        raise TrainVoiceError('This needs further packages: pip install "heard[voice]".') from None
    out.mkdir(parents=True, exist_ok=True)
    with Progress() as on_progress:
        trainer = AdapterTrainer(chosen.path_in(settings.cache_dir))
        encode = trainer.encode
        identity = fingerprint(found) + chosen.name
        loss = trainer.train(
            list(sequences(systems, learnt, encode)),
            list(sequences(systems, kept, encode)),
            keep,
            identity,
            on_progress,
        )
    path = trainer.write(out)
    write_about(path, f"Trained on {len(learnt)} talks for {chosen.model}", chosen.sha256 or "")
    keep.unlink(missing_ok=True)
    typer.echo(
        f"Loss of a reply's token on {len(kept)} talks kept apart ({loss.tokens} tokens): "
        f"{loss.before:.3f} before, {loss.after:.3f} after.\n\nThe adapter is in {out}."
    )
