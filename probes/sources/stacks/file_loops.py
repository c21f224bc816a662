"""Loops that sleep and look again for a file, found in the program's own source around the line where it is.

Whoever polls a lock file shows nothing to the kernel: it sleeps, and its look takes microseconds. The
source tells whether the loop goes on until a file is there, or until it is gone or can be locked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...model.rank_readings import FileLoop
from .program_source import SourceLine, called_name, first_line, loops_around, source_of

_LOOKING = frozenset({"exists", "lexists", "isfile", "is_file", "isdir", "is_dir", "access"})
_LOCKING = frozenset({"flock", "lockf"})
_MAKING = frozenset({"mkdir", "link", "symlink", "open", "touch"})
"""With an error where it is there already: then it is a lock."""
_THERE_ALREADY = "FileExistsError"
_EXCLUSIVE = "O_EXCL"
_MODULES = frozenset({"os", "fcntl", "pathlib", "Path"})
_MOST_FRAMES = 3


class FoundLoop(NamedTuple):
    """A loop, and what it looks for."""

    loop: FileLoop
    path: str
    """Of its source."""
    last_line: int
    names: tuple[str, ...]
    """Of the variables in which its file may be named."""
    literals: tuple[str, ...] = ()
    """Its file may be named in the source itself."""


def file_loop(lines: Iterable[SourceLine], root: str) -> FoundLoop | None:
    """The loop for a file around one of these lines, the innermost first; ``None`` where there is none.

    Args:
        lines: of the program's own functions, and of libraries that lock.
        root: of the file system that the program sees: ``/proc/PID/root``.
    """
    for place in list(lines)[:_MOST_FRAMES]:
        text = source_of(f"{root}{place.path}")
        loop = _loop_at(text, place) if text else None
        if loop is not None:
            return loop
    return None


def _loop_at(text: str, place: SourceLine) -> FoundLoop | None:
    for loop in loops_around(text, place.line):
        awaits = _awaits(loop)
        if awaits is not None:
            found = FileLoop(until=awaits, text=first_line(text, loop), line=loop.lineno)
            last = loop.end_lineno or loop.lineno
            about = list(_about(loop))
            names = dict.fromkeys(name for each in about if (name := _variable(each)))
            return FoundLoop(found, place.path, last, tuple(names), tuple(_literals(about)))
    return None


def _about(loop: ast.While | ast.For) -> Iterator[ast.expr]:
    """What its looks and locks are about."""
    for call in ast.walk(loop):
        if isinstance(call, ast.Call) and called_name(call) in _LOOKING | _LOCKING | _MAKING:
            yield from call.args[:1]
            if isinstance(call.func, ast.Attribute):
                yield call.func.value


def _literals(about: Iterable[ast.expr]) -> Iterator[str]:
    for expression in about:
        for each in ast.walk(expression):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value


def _variable(expression: ast.expr) -> str:
    """``self`` of ``self.folder / "lock"``."""
    match expression:
        case ast.Name():
            return "" if expression.id in _MODULES else expression.id
        case ast.Attribute() | ast.Subscript():
            return _variable(expression.value)
        case ast.BinOp():
            return _variable(expression.left)
        case ast.Call():
            return _variable(expression.args[0] if expression.args else expression.func)
        case _:
            return ""


def _awaits(loop: ast.While | ast.For) -> str | None:
    """``locked``, ``gone`` or ``there``; ``None`` where it looks for no file."""
    called = {called_name(each) for each in ast.walk(loop) if isinstance(each, ast.Call)}
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
    if isinstance(test, ast.Call) and called_name(test) in _LOOKING:
        return True
    return None


def _leaves(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Break | ast.Return) for each in body)
