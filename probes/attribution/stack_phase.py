"""From a Python stack to the phase it stands for, by the rows of ``frame_table``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..model.rank_readings import Stack, StackFrameReading
from ..model.stack_places import is_probe
from .function_phases import INNERMOST, STARTUP, THIN, WHOLE, Row

_MARGIN_SIGMAS = 1.96


class Said(NamedTuple):
    """What one stack tells."""

    phase: str
    doing: str


class Vote(NamedTuple):
    """What several stacks of one thread tell together."""

    phase: str
    doing: str
    share: float
    """Of the dumps."""
    margin: float
    """The true share lies within this of ``share``, at 95 %."""
    dumps: int


OTHER = Said("other", "runs Python")


def phase_of(stack: Stack) -> Said:
    """The phase of one whole stack; ``other`` where no row fits."""
    frames = [frame for frame in stack if _first(THIN, frame) is None]
    for place in range(len(frames) - 1, -1, -1):
        if _first(STARTUP, frames[place]) is not None:
            inside = _innermost(frames[:place])
            return inside or Said(STARTUP[0].phase, STARTUP[0].doing)
        row = _first(WHOLE, frames[place])
        if row is not None:
            return Said(row.phase, row.doing)
    return _innermost(frames) or OTHER


def vote(stacks: Iterable[Stack]) -> Vote | None:
    """The phase that most stacks tell, the later one of equals; ``None`` without any."""
    reported = [phase_of(stack) for stack in stacks]
    if not reported:
        return None
    counts = Counter(reversed([each.phase for each in reported]))
    phase, count = max(counts.items(), key=lambda item: item[1])
    doing = next(each.doing for each in reversed(reported) if each.phase == phase)
    share = count / len(reported)
    return Vote(phase, doing, share, margin(share, len(reported)), len(reported))


def margin(share: float, samples: int) -> float:
    """Half the width of Wilson's interval at 95 %: honest for few samples, and never zero."""
    squared = _MARGIN_SIGMAS**2
    spread = share * (1 - share) / samples + squared / (4 * samples**2)
    return _MARGIN_SIGMAS * math.sqrt(spread) / (1 + squared / samples)


def without_probe(stack: Stack) -> Stack:
    """The stack as it would be without gputop in the job: the probe wraps functions of torch."""
    return tuple(frame for frame in stack if not is_probe(frame.file))


def _innermost(frames: Sequence[StackFrameReading]) -> Said | None:
    for frame in frames:
        row = _first(INNERMOST, frame)
        if row is not None:
            return Said(row.phase, row.doing)
    return None


def _first(rows: tuple[Row, ...], frame: StackFrameReading) -> Row | None:
    function = frame.name.rsplit(".", 1)[-1]
    if function == "<module>" and rows is not STARTUP:
        return None  # a library's file that is being imported does none of its work
    return _lookup(rows, frame.file, function)


@lru_cache(maxsize=4096)
def _lookup(rows: tuple[Row, ...], file: str, function: str) -> Row | None:
    path = f"/{file}"
    for row in rows:
        folder = row.file.endswith("/")
        fits = f"/{row.file}" in path if folder else path.endswith(f"/{row.file}")
        if fits and (row.functions == "*" or function in row.functions.split()):
            return row
    return None
