"""The files of questions of one study together: whether they fit each other, and which item a stored answer is of."""

from collections.abc import Mapping, Sequence

from heard.chat_app.questions.question_file import (
    Item,
    QuestionFile,
    condition_of,
    fault_of_comparison,
)
from heard.hints import nearest_name

ORDER = ("before", "between", "after")
"""Places in the order in which people come to them."""


def item_key(file: QuestionFile, item: Item) -> str:
    """Return what an item is called in the database, in exports and in conditions of other files."""
    return f"{file.id}.{item.id}"


def in_order(files: Sequence[QuestionFile]) -> list[QuestionFile]:
    """Return a study's files in the order in which people come to them."""
    return sorted(files, key=lambda file: ORDER.index(file.place))


def items_by_key(files: Sequence[QuestionFile]) -> dict[str, tuple[QuestionFile, Item]]:
    """Return every item of a study with its file, by its key."""
    return {item_key(file, item): (file, item) for file in files for item in file.items}


def visible_items(file: QuestionFile, items: Sequence[Item], answers: Mapping[str, str | None]) -> list[Item]:
    """Return the items that are asked, by the stored answers by key; an answer to an item of this file may stand under
    the item's own id."""
    own = {key.removeprefix(f"{file.id}."): value for key, value in answers.items() if key.startswith(f"{file.id}.")}
    known = {**answers, **own}
    shown = []
    for item in items:
        condition = condition_of(item, "show_if")
        if condition is None or condition.holds(known):
            shown.append(item)
    return shown


def screens_out(item: Item, answer: str | None) -> bool:
    """Return whether a stored answer sends the person away."""
    condition = condition_of(item, "screen_out")
    return condition is not None and condition.holds({item.id: answer})


def check_questions(files: Sequence[QuestionFile], *, live: bool, ballots: int) -> None:
    """Raise ValueError, with a line for each fault, if the files cannot all be in one study with so many ballots."""
    faults: list[str] = []
    names = [file.id for file in files]
    faults += [
        f'has two files of questions with the id "{name}"' for name in sorted(set(names)) if names.count(name) > 1
    ]
    earlier: dict[str, tuple[QuestionFile, Item]] = {}
    for file in in_order(files):
        if file.place == "between" and live:
            faults.append(f"questions {file.id}: a live study has no pages between ballots. Ask before or after")
        if max(file.after_ballot or 0, file.every or 0) >= ballots:
            faults.append(
                f"questions {file.id}: it would never be asked, because the last of {ballots} ballots has none after it"
            )
        for item in file.items:
            condition = condition_of(item, "show_if")
            for one in condition.comparisons if condition else ():
                if "." not in one.item:
                    continue
                where = f'questions {file.id}: item "{item.id}" has a show_if on "{one.item}"'
                if one.item in earlier:
                    other, of = earlier[one.item]
                    faults += [
                        f"questions {file.id}: {fault}"
                        for fault in fault_of_comparison(other, item.id, of, one.values, one.sign)
                    ]
                elif one.item.partition(".")[0] == file.id:
                    faults.append(f"{where}: of this file, so write it without the file's name")
                else:
                    hint = f" {nearest_name(one.item, earlier)}" if earlier else ""
                    faults.append(f"{where}, which no earlier file asks.{hint}")
        earlier |= {item_key(file, item): (file, item) for item in file.items}
    if faults:
        raise ValueError("\n".join(faults))
