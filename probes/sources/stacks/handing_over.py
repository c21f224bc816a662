"""Threads that hand nothing over: whoever waits in the main thread waits not for them.

By its source: none of the functions in which such a thread is, nor those of the same file that they call,
puts, sets, notifies or releases anything. A heartbeat is one, a scheduler is none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .program_source import (
    Function,
    SourceLine,
    called_name,
    function_around,
    functions_of,
    source_of,
)

_HANDS_OVER = frozenset(
    {"put", "put_nowait", "putleft", "set", "set_result", "set_exception", "notify", "notify_all"}
    | {"notifyAll", "release", "send", "send_bytes", "append", "appendleft", "submit", "apply"}
    | {"apply_async", "call_soon_threadsafe", "run_coroutine_threadsafe", "callback", "emit"}
    | {"publish", "dispatch", "execute", "handle", "process_request", "wake", "wakeup", "resume"}
)
_WAITING_ONLY = ("threading.py", "queue.py")
"""In these a thread waits, or begins."""
_MOST_FRAMES = 12
_MOST_FUNCTIONS = 50


def hands_over(lines: Iterable[SourceLine], root: str) -> bool | None:
    """Whether a thread might; ``None``: a source of it could not be read.

    Args:
        lines: all places of its stack, innermost first.
        root: of the file system that the program sees: ``/proc/PID/root``.
    """
    found = False
    for place in list(lines)[:_MOST_FRAMES]:
        if place.path.endswith(_WAITING_ONLY):
            continue
        text = source_of(f"{root}{place.path}") if place.path.startswith("/") else ""
        function = function_around(text, place.line) if text else None
        if function is None:
            return None
        found = found or _hands_over(function, functions_of(text))
    return found


def _hands_over(function: Function, others: dict[str, Function]) -> bool:
    return not _HANDS_OVER.isdisjoint(_called(function, others))


def _called(function: Function, others: dict[str, Function]) -> Iterator[str]:
    """By it, and by the functions of the same file that it calls, however deep."""
    ahead, known = [function], {id(function)}
    while ahead and len(known) <= _MOST_FUNCTIONS:
        for node in ast.walk(ahead.pop()):
            if not isinstance(node, ast.Call):
                continue
            name = called_name(node)
            yield name
            other = others.get(name)
            if other is not None and id(other) not in known:
                known.add(id(other))
                ahead.append(other)
