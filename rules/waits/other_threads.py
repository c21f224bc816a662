"""The other Python threads of a rank, by its last stacks: who could let its main thread go on."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.rank_readings import StackReading, StackThreadReading


def threads_of(rank: RankFrame, frame: Frame) -> tuple[StackThreadReading, ...] | None:
    """All of the last dump, the main one too, but the probe's own; ``None`` where stacks no longer say where
    the rank is."""
    if rank.phase_dumps is None:
        return None
    reading = frame.stacks_of(rank)
    if reading is None or not any(each.main for each in reading.threads):
        return None
    return tuple(each for each in reading.threads if not each.of_probe)


def is_left_alone(rank: RankFrame, frame: Frame) -> bool:
    """Its main thread waits for a lock or a queue, and there is no other Python thread to serve it: none at
    all, or by their sources none that hands anything over."""
    threads = threads_of(rank, frame)
    activity = rank.activity
    return (
        threads is not None
        and all(each.main or each.hands_over is False for each in threads)
        and activity is not None
        and activity.wait == "lock"
    )


def is_scheduled(reading: StackReading) -> bool:
    """Whoever may hand something to its main thread sleeps for a time of its own: what is waited for is not
    due yet."""
    others = [each for each in reading.threads if not each.main and not each.of_probe]
    handing = [each for each in others if each.hands_over is not False]
    return bool(handing) and all(each.hands_over and each.sleeps for each in handing)


def gil_owner(rank: RankFrame, frame: Frame) -> StackThreadReading | None:
    """The thread that keeps the interpreter while the main thread stands in a lock."""
    activity = rank.activity
    if activity is None or (activity.wait != "lock" and activity.asks_since_seconds is None):
        return None
    found = threads_of(rank, frame) or ()
    return next((each for each in found if each.owns_gil and not each.main), None)


def is_without_gil(rank: RankFrame, frame: Frame) -> bool:
    """It asks for the interpreter again and again, and the thread that keeps it sleeps."""
    if rank.activity is None or rank.activity.asks_since_seconds is None:
        return False
    owner = gil_owner(rank, frame)
    return owner is not None and owner.active is False
