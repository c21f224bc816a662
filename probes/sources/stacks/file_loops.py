"""Loops that sleep and look again for a file, found in the program's own source around the line where it is.

Whoever polls a lock file shows nothing to the kernel: it sleeps, and its look takes microseconds. The
source tells whether the loop goes on until a file is there, or until it is gone or can be locked.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...model.rank_readings import FileLoop

_LOOKING = frozenset({"exists", "lexists", "isfile", "is_file", "isdir", "is_dir", "access"})
_LOCKING = frozenset({"flock", "lockf"})
_MAKING = frozenset({"mkdir", "link", "symlink", "open", "touch"})
"""With an error where it is there already: then it is a lock."""
_THERE_ALREADY = "FileExistsError"
_EXCLUSIVE = "O_EXCL"
_MOST_BYTES = 1 << 20
_MOST_FRAMES = 3
_MOST_CHARS = 120
_READ_SECONDS = 0.5
"""Its disk may hang; then that source is not read, and the thread that tries is left behind."""

_Loop = ast.While | ast.For


class SourceLine(NamedTuple):
    """Where a function is now."""

    path: str
    line: int


def file_loop(lines: Iterable[SourceLine], root: str) -> FileLoop | None:
    """The loop for a file around one of these lines, the innermost first; ``None`` where there is none.

    Args:
        lines: of the program's own functions.
        root: of the file system that the program sees: ``/proc/PID/root``.
    """
    for place in list(lines)[:_MOST_FRAMES]:
        text = _source(f"{root}{place.path}")
        loop = _loop_at(text, place.line) if text else None
        if loop is not None:
            return loop
    return None


def _loop_at(text: str, line: int) -> FileLoop | None:
    for loop in reversed(_loops(text)):  # the innermost begins last
        if loop.lineno <= line <= (loop.end_lineno or loop.lineno):
            awaits = _awaits(loop)
            if awaits is not None:
                words = text.split("\n")[loop.lineno - 1].strip().rstrip(":")
                return FileLoop(until=awaits, text=words[:_MOST_CHARS], line=loop.lineno)
    return None


@lru_cache(maxsize=16)
def _loops(text: str) -> tuple[_Loop, ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = [each for each in ast.walk(tree) if isinstance(each, ast.While | ast.For)]
    return tuple(sorted(found, key=lambda each: each.lineno))


def _awaits(loop: _Loop) -> str | None:
    """``locked``, ``gone`` or ``there``; ``None`` where it looks for no file."""
    called = {name for each in ast.walk(loop) if isinstance(each, ast.Call) for name in _name(each)}
    names = {each.id for each in ast.walk(loop) if isinstance(each, ast.Name)}
    attributes = {each.attr for each in ast.walk(loop) if isinstance(each, ast.Attribute)}
    if called & _LOCKING or (called & _MAKING and _THERE_ALREADY in names):
        return "locked"
    if "open" in called and _EXCLUSIVE in names | attributes:
        return "locked"
    if isinstance(loop, ast.While):
        seen = _looks(loop.test)
        if seen is not None:
            return "gone" if seen else "there"
    for each in ast.walk(loop):
        if isinstance(each, ast.If) and _leaves(each.body):
            seen = _looks(each.test)
            if seen is not None:
                return "there" if seen else "gone"
    return None


def _looks(test: ast.expr) -> bool | None:
    """Whether the condition is that a file is there (``True``) or is not; ``None``: it is of no file."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _looks(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return next((seen for each in test.values if (seen := _looks(each)) is not None), None)
    if isinstance(test, ast.Call) and set(_name(test)) & _LOOKING:
        return True
    return None


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Break | ast.Return) for each in body)


def _name(call: ast.Call) -> Iterator[str]:
    if isinstance(call.func, ast.Attribute):
        yield call.func.attr
    elif isinstance(call.func, ast.Name):
        yield call.func.id


def _source(path: str) -> str:
    found: list[str] = []

    def read() -> None:
        try:
            with Path(path).open("rb") as file:
                found.append(file.read(_MOST_BYTES).decode("utf-8", "replace"))
        except OSError:
            found.append("")

    reader = threading.Thread(target=read, name="source of a program", daemon=True)
    reader.start()
    reader.join(_READ_SECONDS)
    return found[0] if found else ""
