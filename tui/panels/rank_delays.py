"""The recent past of a job's ranks on one clock: their phases, and what each cost the others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...probes.derive.rank_waits import Track, Wait, waits_past
from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame

STEPS_SHOWN = 4.0
"""So many typical steps are shown, if nothing lasts longer."""
_STALLED_STEPS = 2.0
_STALL_SHARE = 0.8
"""A step that does not end takes up this part of what is shown."""
_DEFAULT_SECONDS = 10.0


class Delay(NamedTuple):
    """How long others were in a collective that this rank had not entered yet."""

    ranks: int
    """How many others."""
    ratio: float
    """Share of the time shown, for the one that waited longest."""


class Past(NamedTuple):
    """What a timeline is drawn from."""

    start: float
    """Monotonic seconds, as the next one."""
    end: float
    tracks: Mapping[int, Track]
    """By pid. Only ranks whose phases are known."""
    waits: Mapping[int, Sequence[Wait]]
    """By the rank's number."""

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start


def past_of(frame: Frame, job: JobFrame) -> Past:
    """The last steps of a job."""
    now = frame.monotonic_seconds
    start = now - _shown_seconds(job.living or job.ranks)
    tracks = {rank.pid: track for rank in job.ranks if (track := _track(frame, rank, now)).segments}
    numbered = {
        rank.rank: _since(tracks[rank.pid], start)
        for rank in job.ranks
        if rank.rank is not None and rank.pid in tracks
    }
    return Past(start, now, tracks, waits_past(numbered, now))


def delays_of(past: Past) -> dict[int, Delay]:
    """For each rank that others waited for: how long."""
    waited: dict[int, dict[int, float]] = {}
    for rank, waits in past.waits.items():
        for wait in waits:
            seconds = wait.end - max(wait.start, past.start)
            if seconds > 0:
                by_rank = waited.setdefault(wait.rank, {})
                by_rank[rank] = by_rank.get(rank, 0.0) + seconds
    return {
        rank: Delay(len(by_rank), max(by_rank.values()) / past.seconds)
        for rank, by_rank in waited.items()
    }


def _shown_seconds(ranks: Sequence[RankFrame]) -> float:
    typical = max((rank.step_p50_seconds or 0.0 for rank in ranks), default=0.0)
    age = max((rank.step_age_seconds or 0.0 for rank in ranks), default=0.0)
    if age > _STALLED_STEPS * typical:
        return max(age / _STALL_SHARE, 1e-3)
    return STEPS_SHOWN * typical or _DEFAULT_SECONDS


def _track(frame: Frame, rank: RankFrame, now: float) -> Track:
    past = frame.rank_history(rank.pid, rank.start_time_seconds)
    ended = rank.ended_age_seconds
    return Track(past.segments if past else (), now if ended is None else now - ended)


def _since(track: Track, start: float) -> Track:
    """Without what was over before; the step in which it begins is kept whole."""
    segments = track.segments
    at = bisect_right(segments, start, key=lambda segment: segment.monotonic_seconds)
    step = segments[max(0, at - 1)].step
    while at and segments[at - 1].step >= step - 1:
        at -= 1
    return Track(segments[at:], track.end)
