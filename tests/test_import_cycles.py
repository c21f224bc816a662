"""No module imports another in a circle, also not by an import inside a function or for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "gputop"
LAYERS = ("probes", "rules", "tui")


def module_name(path: Path, root: Path) -> str:
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def imported(tree: ast.Module, package: str, known: frozenset[str]) -> Iterator[str]:
    """The modules of ours that these statements load, wherever they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                if name in known:
                    yield name
                elif base in known:
                    yield base


def _base(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = package.split(".")
    above = above[: len(above) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def import_graph(root: Path, folders: tuple[str, ...]) -> dict[str, set[str]]:
    """Module → the modules that it imports."""
    paths = {
        module_name(path, root): path
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
    }
    known = frozenset(paths)
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        found = imported(ast.parse(path.read_text()), package, known)
        graph[name] = set(found) - {name}
    return graph


def cycles_of(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    cycles: list[list[str]] = []
    for start in graph:
        if start in index:
            continue
        work: list[tuple[str, Iterator[str]]] = []
        _enter(start, graph, index, low, open_names, work)
        while work:
            name, others = work[-1]
            other = next(others, None)
            if other is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == index[name]:
                    at = open_names.index(name)
                    component, open_names[at:] = open_names[at:], []
                    if len(component) > 1:
                        cycles.append(sorted(component))
            elif other not in index:
                _enter(other, graph, index, low, open_names, work)
            elif other in open_names:
                low[name] = min(low[name], index[other])
    return cycles


def _enter(
    name: str,
    graph: Mapping[str, set[str]],
    index: dict[str, int],
    low: dict[str, int],
    open_names: list[str],
    work: list[tuple[str, Iterator[str]]],
) -> None:
    index[name] = low[name] = len(index)
    open_names.append(name)
    work.append((name, iter(sorted(graph[name]))))


def test_no_module_of_ours_is_in_a_circle() -> None:
    graph = import_graph(ROOT, LAYERS)
    assert len(graph) > 200
    assert cycles_of(graph) == []


@pytest.mark.parametrize(
    "second",
    [
        "from .one import ONE\n",
        "def late():\n    from . import one\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gputop.probes import one\n",
        "class Late:\n    def at(self):\n        import gputop.probes.one\n",
    ],
    ids=["module", "function", "types", "method"],
)
def test_a_circle_is_found_wherever_the_import_stands(tmp_path: Path, second: str) -> None:
    _write(tmp_path, {"one.py": "from . import two\n", "two.py": second})
    circle = ["gputop.probes.one", "gputop.probes.two"]
    assert cycles_of(import_graph(tmp_path, ("probes",))) == [circle]


def test_two_ways_to_the_same_module_are_no_circle(tmp_path: Path) -> None:
    files = {
        "one.py": "from . import two\nfrom .three import THREE\n",
        "two.py": "def late():\n    from . import three\n",
        "three.py": "import json\nTHREE = 3\n",
    }
    _write(tmp_path, files)
    assert cycles_of(import_graph(tmp_path, ("probes",))) == []


def _write(root: Path, files: Mapping[str, str]) -> None:
    folder = root / "probes"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, text in files.items():
        (folder / name).write_text(text)
