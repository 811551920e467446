"""The scorer's own walls: run time below training, training below evaluation, no circle of files, no name twice."""

from graphlib import TopologicalSorter

from tests.test_layering import FILES, ROOT, imports, path_of

SCORER = [name for name in FILES if name.startswith("scorer/")]
FLOORS = {"evaluation": 2, "training": 1}
"""Folder to floor; the files beside them, which rate replies, are on floor 0. A file imports none of a floor above."""


def imported(name: str) -> set[str]:
    """The scorer's files that one of them imports, anywhere in it."""
    return {path_of(module) for module in imports(name)} & set(SCORER)


def floor(name: str) -> int:
    return FLOORS.get(name.split("/")[1], 0)


def test_nothing_is_imported_from_a_floor_above() -> None:
    assert {floor(name) for name in SCORER} == {0, 1, 2}
    assert [f"{name} imports {one}" for name in SCORER for one in imported(name) if floor(one) > floor(name)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {name: imported(name) for name in SCORER}
    assert sum(map(len, graph.values())) > 50
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the files


def test_no_file_name_is_there_twice() -> None:
    names = [path.name for path in (ROOT / "scorer").rglob("*.py") if path.name not in ("__init__.py", "records.py")]
    assert sorted(names) == sorted(set(names))
