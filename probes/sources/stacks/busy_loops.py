"""Loops that only look, or only change variables of their own: whoever runs in one for long makes no progress.

Most long work in a loop leaves something behind: it appends, writes, calls what others wrote. A loop that
does none of this, counts up to no bound and looks at no clock goes on until something else changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...model.rank_readings import BusyLoop
from .program_source import SourceLine, called_name, first_line, loops_around, source_of

_HARMLESS = frozenset(
    {"is_set", "empty", "full", "done", "running", "is_alive", "poll", "locked", "qsize", "item"}
    | {"exists", "is_file", "isfile", "is_dir", "isdir", "getsize", "test", "is_completed", "query"}
    | {
        "get_nowait",
        "cancelled",
        "ready",
        "value",
        "exitcode",
        "len",
        "int",
        "float",
        "bool",
        "str",
    }
    | {"abs", "min", "max", "sum", "mean", "norm", "all", "any", "isinstance", "hasattr", "getattr"}
    | {"isfinite", "isnan", "isinf", "sqrt", "get", "is_complete", "acquire"}
    | {"sched_yield", "pause", "tensor", "ones", "zeros", "no_grad"}
)
"""Calls that look or compute, and leave nothing behind."""
_STATEMENTS = (
    *(ast.Pass, ast.Continue, ast.Break, ast.Return, ast.Raise, ast.Assign, ast.AugAssign),
    *(ast.AnnAssign, ast.If, ast.While, ast.For, ast.Try, ast.Expr, ast.With),
)
_MOST_FRAMES = 2
"""The loop may call a function of its own for each look."""


def busy_loop(lines: Iterable[SourceLine], root: str) -> BusyLoop | None:
    """The loop without an effect around one of these lines, the innermost first; ``None``: none is.

    Args:
        lines: of the program's own functions.
        root: of the file system that the program sees: ``/proc/PID/root``.
    """
    for place in list(lines)[:_MOST_FRAMES]:
        text = source_of(f"{root}{place.path}")
        around = list(loops_around(text, place.line)) if text else []
        if around:
            # The innermost is where it is: what goes round about it may do anything.
            loop = around[0]
            if not isinstance(loop, ast.While) or _has_effect(loop) or _has_end(loop):
                return None
            return BusyLoop(text=first_line(text, loop), line=loop.lineno)
    return None


def _has_effect(loop: ast.While) -> bool:
    return any(_does_something(node) for each in _parts(loop) for node in ast.walk(each))


def _parts(loop: ast.While) -> Iterator[ast.AST]:
    yield loop.test
    yield from loop.body


def _does_something(node: ast.AST) -> bool:
    if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
        return True
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
        return True
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Store | ast.Del)
    return isinstance(node, ast.Call) and called_name(node) not in _HARMLESS


def _has_end(loop: ast.While) -> bool:
    """It counts towards a bound: what it compares grows or falls by a constant in each round."""
    compared = {
        name.id
        for test in ast.walk(loop)
        if isinstance(test, ast.Compare)
        for name in ast.walk(test)
        if isinstance(name, ast.Name)
    }
    counted = {
        each.target.id
        for each in ast.walk(loop)
        if isinstance(each, ast.AugAssign)
        and isinstance(each.op, ast.Add | ast.Sub)
        and isinstance(each.target, ast.Name)
    }
    tested = {each.id for each in ast.walk(loop.test) if isinstance(each, ast.Name)}
    return bool(counted & (compared | tested))
