"""Who waits for whom: from the collectives in flight now, and from the order of arrival in the past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..model.probe_readings import ProbeReading, SegmentReading

WAITING = "comm"
_LEAST_SECONDS = 0.001


class Wait(NamedTuple):
    """A rank was in a collective that another one had not entered yet."""

    start: float
    """Monotonic seconds, as the next one."""
    end: float
    rank: int
    """For whom: the last one to come."""


class Track(NamedTuple):
    """The phases of one rank."""

    segments: Sequence[SegmentReading]
    end: float
    """When the last one ended: now, or when the process died."""


def waits_now(ranks: Mapping[int, ProbeReading]) -> dict[int, tuple[int, ...]]:
    """For each rank that is inside a collective: those of its group that have launched fewer.

    Args:
        ranks: number → its newest reading. Ranks of other nodes are not seen and never named.
    """
    launched = {
        (rank, each.group): each.sequence
        for rank, probe in ranks.items()
        for each in probe.collectives
        if each.sequence
    }
    waits: dict[int, tuple[int, ...]] = {}
    for rank, probe in ranks.items():
        if probe.ended_monotonic_seconds is not None:
            continue
        behind = {
            other
            for each in probe.collectives
            if each.in_flight_monotonic_seconds is not None and each.host_waits
            for other in each.ranks or ranks
            if launched.get((other, each.group), each.sequence) < each.sequence
        }
        if behind:
            waits[rank] = tuple(sorted(behind))
    return waits


def waits_past(tracks: Mapping[int, Track], now: float) -> dict[int, list[Wait]]:
    """For each rank when it waited in ``comm``, and for whom.

    Ranks enter the n-th ``comm`` of a step together if all go well; whoever enters last was waited
    for. A rank that has not come yet is waited for until now.
    """
    arrivals: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}
    for rank, track in tracks.items():
        for key, span in _arrivals(track):
            arrivals.setdefault(key, {})[rank] = span
    waits: dict[int, list[Wait]] = {rank: [] for rank in tracks}
    whole = _first_whole_step(tracks)
    for (step, _), came in sorted(arrivals.items()):
        if step < whole:
            continue
        latest, whom = _last_to_come(step, came, tracks, now)
        for rank, (start, end) in came.items():
            until = min(end, latest)
            if rank != whom and until - start > _LEAST_SECONDS:
                waits[rank].append(Wait(start, until, whom))
    return waits


def _first_whole_step(tracks: Mapping[int, Track]) -> int:
    """Of the oldest step that is kept of a rank, the beginning may be missing: nothing is counted in it."""
    return max(
        (
            track.segments[0].step + 1
            for track in tracks.values()
            if track.segments and track.segments[0].step != track.segments[-1].step
        ),
        default=0,
    )


def _arrivals(track: Track) -> list[tuple[tuple[int, int], tuple[float, float]]]:
    found: list[tuple[tuple[int, int], tuple[float, float]]] = []
    step, count = -1, 0
    segments = track.segments
    for at, segment in enumerate(segments):
        if segment.step != step:
            step, count = segment.step, 0
        if segment.phase == WAITING:
            end = segments[at + 1].monotonic_seconds if at + 1 < len(segments) else track.end
            found.append(((step, count), (segment.monotonic_seconds, end)))
            count += 1
    return found


def _last_to_come(
    step: int,
    came: Mapping[int, tuple[float, float]],
    tracks: Mapping[int, Track],
    now: float,
) -> tuple[float, int]:
    absent = [
        rank
        for rank, track in tracks.items()
        if rank not in came and track.segments and track.segments[-1].step <= step
    ]
    if absent:
        return now, min(absent, key=lambda rank: (tracks[rank].segments[-1].step, rank))
    whom = max(came, key=lambda rank: came[rank][0])
    return came[whom][0], whom
