"""Reads the prompt files: personas, strategies, policies, examples and the texts beside them; again when edited.

A developer adds a persona by dropping a file into the folder. Every key is checked: a misspelt field is refused with
the file, the fault and the nearest right name, because a persona whose `max_tokns` was silently ignored would run a
study under the wrong condition.

A folder of one's own may hold any of PARTS; those that it does not hold are the ones that come with heard.
"""

import filecmp
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import with_config

from heard.hints import closest, nearest_name
from heard.prompts.bot_answer_files import NO_ANSWERS, BotAnswers, read_bot_answers
from heard.prompts.example_files import Example, ExampleSet, read_examples
from heard.prompts.fields import NonEmpty, only_variables
from heard.prompts.files import PromptFileError, read_record, yaml_files
from heard.prompts.item_file import ItemInstructions, read_item_instructions
from heard.prompts.judge_file import JudgeInstructions, read_judge
from heard.prompts.persona_files import WORD, read_persona
from heard.prompts.pictures import KINDS, Picture, read_picture
from heard.prompts.policy_files import read_policy
from heard.prompts.records import Persona, Policy, Strategy
from heard.prompts.strategy_files import read_strategy
from heard.prompts.summary import SummaryInstructions
from heard.prompts.variables import fill

BUILT_IN = Path(__file__).parent
FIXED = ("safety", "emotion_words.yaml", "bot_questions.yaml")
"""Always those that come with heard: they were reviewed and measured together, and a folder that had only some of them
would lose a language, a number or a pattern in silence."""

Stamp = tuple[int, int]
"""Of a file: when it was changed, in nanoseconds, and its bytes."""
Reader = Callable[[Path, str], Any]
"""Of one file, with the persona's word. Raises PromptFileError."""
GuidanceText = Annotated[NonEmpty, only_variables(WORD)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class GuidanceFile:
    """`guidance.yaml`: what a rewrite is told, by the component that is low."""

    cognitive: GuidanceText
    emotional: GuidanceText
    behavioral: GuidanceText


def _read_guidance(path: Path, word: str) -> dict[str, str]:
    return {name: fill(text, {WORD: word}) for name, text in asdict(read_record(path, GuidanceFile)).items()}


PARTS: Mapping[str, Reader] = {
    "personas": read_persona,
    "strategies": lambda path, _: read_strategy(path),
    "policies": lambda path, _: read_policy(path),
    "examples": lambda path, _: read_examples(path),
    "guidance.yaml": _read_guidance,
    "summary.yaml": lambda path, _: read_record(path, SummaryInstructions),
    "bot_answers.yaml": lambda path, _: read_bot_answers(path),
    "judge.yaml": lambda path, _: read_judge(path),
    "item_answers.yaml": lambda path, _: read_item_instructions(path),
}
"""What a folder may hold, and how each file of it is read."""
MENUS = ("personas", "strategies", "policies")
FOLDERS = (*MENUS, "examples")
BESIDE = ("policies", "examples")
"""Folders whose files stand beside those that come with heard, or in place of the one of the same name."""


@dataclass(slots=True)
class PromptLibrary:
    """All prompt files in force, read and checked."""

    personas: dict[str, Persona]
    """By id, in menu order; the first is the default."""
    strategies: dict[str, Strategy]
    """By id, in menu order."""
    policies: dict[str, Policy]
    """When a draft is written again, by id, in menu order: those that come with heard, and the folder's own beside or
    in place of them."""
    guidance: dict[str, str]
    """What a rewrite is told, by component: cognitive, emotional, behavioral."""
    summary: SummaryInstructions
    """How a long conversation is summed up."""
    bot_answers: BotAnswers
    """What is answered to questions about the bot."""
    judge: JudgeInstructions
    """What a model is told that rates replies."""
    item_answers: ItemInstructions
    """What a model is told that answers the questions of a study."""
    examples: dict[str, tuple[Example, ...]] = field(default_factory=dict)
    """Exchanges to show before a message, by the persona whose voice they have (`Persona.examples_of`)."""
    pictures: dict[str, Picture] = field(default_factory=dict)
    """By the id of the persona whose file names one."""
    fault: str | None = None
    """Why files edited since then are not in use, in a sentence; None while all are."""
    waiting: bool = False
    """Whether edited files are left out on purpose; for whoever decides that."""
    _folder: Path = BUILT_IN
    _word: str = ""
    _own: set[str] = field(default_factory=set)
    """Of PARTS those that the folder has had: one that goes away is a fault, and never gives way to ours in silence."""
    _stamps: dict[str, Stamp] = field(default_factory=dict)
    """Of the files as they were last looked at, broken ones too."""
    _cache: dict[str, tuple[Stamp | None, Any]] = field(default_factory=dict)
    """The record of each sound file, so that one edit among a thousand files costs one."""

    @classmethod
    def load(cls, folder: Path | None = None, persona_word: str = "supportive listener") -> "PromptLibrary":
        """Read PARTS of `folder`, and of what comes with heard those that it does not hold, or without a folder all.

        `persona_word` stands for `{persona_word}` in every text of a persona and of the guidance. Raises
        PromptFileError with every fault of every file.
        """
        nothing = (SummaryInstructions("", 0), NO_ANSWERS, JudgeInstructions("", 0), ItemInstructions("", 0))
        library = cls({}, {}, {}, {}, *nothing, _folder=folder or BUILT_IN, _word=persona_word)
        library._stamps = library._current_stamps()
        faults = [*_ignored(library._folder), *library._read()]
        if faults:
            raise PromptFileError(*faults)
        return library

    def offered(self, *, research: bool) -> dict[str, Persona]:
        """The personas that anybody may choose, in menu order: all for `research`, else those with a system text.
        One without is an experiment's prompt, and no company; where there are no others, all are offered."""
        return {id_: one for id_, one in self.personas.items() if research or one.system} or self.personas

    @property
    def inherited(self) -> list[str]:
        """Of PARTS those that the folder does not hold, so that they are the ones that come with heard."""
        return [part for part in PARTS if part not in self._own]

    @property
    def edited(self) -> bool:
        """Whether a file has come, gone or changed since they were last read. Costs a look at each file's entry."""
        return self._current_stamps() != self._stamps

    def refresh(self) -> bool:
        """Take in what has been edited; whether there was anything. A set with a fault is left out whole: the last
        good one stays, and `fault` says why. Records that were handed out before stay as they are."""
        stamps = self._current_stamps()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        faults = self._read()
        self.fault = str(PromptFileError(*faults)) if faults else None
        return True

    def _sources(self, part: str) -> list[Path]:
        """Where a part is read from, the later in place of the earlier where both have a file of one name."""
        own = self._folder / part
        if own.exists():
            self._own.add(part)
        places = [] if part in self._own and part not in BESIDE else [BUILT_IN / part]
        return [*places, own] if part in self._own else places

    def _current_stamps(self) -> dict[str, Stamp]:
        return dict(_file_stamps(place for part in PARTS for place in self._sources(part)))

    def _read(self) -> list[str]:
        """Replace what is held if every file is sound; else the faults."""
        faults: list[str] = []
        read: dict[str, list[Any]] = {}
        for part, reader in PARTS.items():
            paths: dict[str, Path] = {}
            for place in self._sources(part):
                found, wrong = yaml_files(place) if part in FOLDERS else ([place], [])
                faults += wrong
                paths |= {path.name: path for path in found}
            read[part] = [record for path in paths.values() if (record := self._record(path, reader, faults))]
        faults = faults or list(self._example_faults(read["personas"], read["examples"]))
        pictures = self._pictures(read["personas"], faults)
        if not faults:
            for part in MENUS:
                by_order = sorted(read[part], key=lambda record: (record.order, record.id))
                setattr(self, part, {record.id: record for record in by_order})
            self.pictures = pictures
            self.examples = {one.id: one.examples for one in read["examples"]}
            (self.guidance,), (self.summary,) = read["guidance.yaml"], read["summary.yaml"]
            (self.bot_answers,), (self.judge,) = read["bot_answers.yaml"], read["judge.yaml"]
            (self.item_answers,) = read["item_answers.yaml"]
        return faults

    def _example_faults(self, personas: Iterable[Persona], sets: Iterable[ExampleSet]) -> Iterator[str]:
        """Personas whose examples are not there."""
        names = [one.id for one in sets]
        for persona in personas:
            if persona.examples and persona.examples_of not in names:
                yield (
                    f"{self._sources('personas')[-1] / persona.id}.yaml: there are no examples called "
                    f"{persona.examples_of}. {nearest_name(persona.examples_of, names)}"
                )

    def _pictures(self, personas: Iterable[Persona], faults: list[str]) -> dict[str, Picture]:
        """The pictures that personas name, by id; what is wrong with them is noted in `faults`."""
        folder, found = self._sources("personas")[-1], {}
        for persona in personas:
            if not persona.picture:
                continue
            path = folder / persona.picture
            if not path.exists():
                beside = sorted(one.name for one in folder.iterdir() if one.suffix.lower() in KINDS)
                hint = nearest_name(persona.picture, beside) if beside else "Put it there, or remove the key picture."
                faults.append(f"{folder / persona.id}.yaml: there is no picture {persona.picture} beside it. {hint}")
            elif picture := self._record(path, lambda place, _: read_picture(place), faults):
                found[persona.id] = picture
        return found

    def _record(self, path: Path, reader: Reader, faults: list[str]) -> Any:
        """What a file holds, read only if it has changed; None, with its faults noted, if it has any."""
        stamp, kept = self._stamps.get(str(path)), self._cache.get(str(path))
        if kept is None or kept[0] != stamp:
            try:
                kept = self._cache[str(path)] = (stamp, reader(path, self._word))
            except PromptFileError as error:
                faults += error.faults
                return None
        return kept[1]


def _file_stamps(places: Iterable[Path]) -> Iterator[tuple[str, Stamp]]:
    # By scandir, which asks the system once a file: a turn waits for this.
    for place in places:
        try:
            if place.suffix:
                seen = place.stat()
                yield str(place), (seen.st_mtime_ns, seen.st_size)
                continue
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name.lower().endswith((".yaml", ".yml", *KINDS)):
                        try:
                            seen = entry.stat()
                        except OSError:
                            continue  # a link to nothing: reading it tells
                        yield entry.path, (seen.st_mtime_ns, seen.st_size)
        except OSError:
            continue  # gone, or not readable: reading it tells


def _ignored(folder: Path) -> list[str]:
    """What a folder of one's own holds that looks as if it were in use, and would be ignored."""
    names = {path.name for path in folder.glob("*") if path.is_dir() or path.suffix in (".yaml", ".yml")}
    absent = {Path(part).stem: part for part in PARTS if part not in names}
    if len(absent) == len(PARTS):
        return [f"{folder} holds no prompt files. Put at least one of {', '.join(PARTS)} there."]
    meant = {name: closest(Path(name).stem, absent) for name in sorted(names - {*PARTS, *FIXED})}
    faults = [f"{folder / name} is not read. Did you mean {absent[part]}?" for name, part in meant.items() if part]
    files = [folder / name for name in FIXED if name.endswith(".yaml")]
    for path in (*files, *sorted((folder / "safety").glob("*.yaml"))):
        ours = BUILT_IN / path.relative_to(folder)
        if path.exists() and not (ours.exists() and filecmp.cmp(path, ours, shallow=False)):
            faults.append(
                f"{path} is not read: {' and '.join(FIXED)} are always those that come with heard. Remove it."
            )
    return faults
