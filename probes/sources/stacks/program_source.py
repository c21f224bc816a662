"""The source of a watched program around the lines where its threads are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .soon import soon

_MOST_BYTES = 1 << 20
_MOST_CHARS = 120

Loop = ast.While | ast.For
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class SourceLine(NamedTuple):
    """Where a function is now."""

    path: str
    line: int


def source_of(path: str) -> str:
    """The text of a file of the program; empty where it cannot be read soon."""
    return soon(lambda: _read(path), "")


def _read(path: str) -> str:
    with Path(path).open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")


def loops_around(text: str, line: int) -> Iterator[Loop]:
    """The loops in which a line lies, the innermost first."""
    for node in reversed(_nodes(text)):  # the innermost begins last
        if isinstance(node, Loop) and _has(node, line):
            yield node


def function_around(text: str, line: int) -> Function | None:
    """The innermost function in which a line lies; ``None``: it is the module's own."""
    found = (each for each in reversed(_nodes(text)) if isinstance(each, Function))
    return next((each for each in found if _has(each, line)), None)


def functions_of(text: str) -> dict[str, Function]:
    """All functions and methods of a file, by name; of equal names the last."""
    return {node.name: node for node in _nodes(text) if not isinstance(node, ast.Lambda | Loop)}


def called_name(call: ast.Call) -> str:
    """``put`` of ``self.queue.put()``; empty where what is called has no name."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def first_line(text: str, node: Loop) -> str:
    """The first line of it, for people."""
    return text.split("\n")[node.lineno - 1].strip().rstrip(":")[:_MOST_CHARS]


def _has(node: Loop | Function, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


@lru_cache(maxsize=16)
def _nodes(text: str) -> tuple[Loop | Function, ...]:
    """Loops and functions, as they begin; nothing where that is no Python that this one can read."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = [each for each in ast.walk(tree) if isinstance(each, Loop | Function)]
    return tuple(sorted(found, key=lambda each: (each.lineno, each.col_offset)))
