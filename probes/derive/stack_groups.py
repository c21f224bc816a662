"""Ranks merged by where they are: the largest group is taken to be well, the others are shown first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..attribution.stack_phase import OTHER, Said, phase_of, without_probe
from ..model.frame import Frame
from ..model.job_frames import JobFrame, RankFrame
from ..model.rank_readings import Stack, StackReading
from ..model.reading import key_of
from ..model.stack_places import own_frame


class StackGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks whose main threads are in the same place."""

    ranks: tuple[int | None, ...]
    pids: tuple[int, ...]
    phase: str | None
    phase_source: str | None
    doing: str | None
    place: str | None
    stack: Stack
    """What they have in common, from the outermost frame on; innermost first."""
    stopped: bool = False
    """The kernel lets them not run, wherever they are."""


def merge(job: JobFrame, frame: Frame) -> tuple[StackGroup, ...]:
    """The groups of one job, outliers first."""
    readings = {key_of(each): each for each in frame.stacks}
    groups: dict[object, list[tuple[RankFrame, Stack]]] = {}
    for rank in job.ranks:
        stack = _main(readings.get(key_of(rank)))
        groups.setdefault(_place(rank, stack), []).append((rank, stack))
    # Of equals first the stopped ones, and then those with the lower ranks.
    ordered = sorted(groups.values(), key=lambda members: (len(members), not members[0][0].stopped))
    return tuple(map(_group, ordered))


def _main(reading: StackReading | None) -> Stack:
    if reading is None or not reading.main_stacks:
        return ()
    return without_probe(reading.main_stacks[-1])


def _place(rank: RankFrame, stack: Stack) -> object:
    """The phase, and the frames down to the user's innermost one: leaves below it come and go.

    One that is stopped is never where others are, though its stack may be the same.
    """
    own, reported = own_frame(stack), _reported(rank, stack)
    phase = reported.phase if reported else rank.phase
    if own is None:
        return (rank.stopped, phase, reported.doing if reported else rank.doing, stack)
    return (rank.stopped, phase, stack[stack.index(own) :])


def _reported(rank: RankFrame, stack: Stack) -> Said | None:
    """What the stack itself tells, where a probe reported the phase: that is of now, the stack is older."""
    if rank.phase_source != "measured" or not stack:
        return None
    reported = phase_of(stack)
    return None if reported == OTHER else reported


def _group(members: Sequence[tuple[RankFrame, Stack]]) -> StackGroup:
    first, stack = members[0]
    reported = _reported(first, stack)
    return StackGroup(
        ranks=tuple(rank.rank for rank, _ in members),
        pids=tuple(rank.pid for rank, _ in members),
        phase=reported.phase if reported else first.phase,
        phase_source="sampled" if reported else first.phase_source,
        doing=reported.doing if reported else first.doing,
        place=first.place,
        stack=_common([stack for _, stack in members]),
        stopped=first.stopped,
    )


def _common(stacks: Sequence[Stack]) -> Stack:
    """The frames that all have, counted from the outermost one."""
    outward = [stack[::-1] for stack in stacks]
    length = 0
    for frames in zip(*outward, strict=False):
        if any(frame != frames[0] for frame in frames):
            break
        length += 1
    return outward[0][:length][::-1]
