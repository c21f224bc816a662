"""Who waits for whom, against rhythms whose truth is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.derive.rank_waits import Track, Wait, waits_now, waits_past
from gputop.probes.model.probe_readings import CollectiveReading, ProbeReading
from gputop.probes.simulator import SimulatedNode

from support.probe_scenes import fold, probe, segments


def collective(
    sequence: int, in_flight: float | None = None, **fields: object
) -> CollectiveReading:
    return CollectiveReading(
        group="default",
        sequence=sequence,
        operation="all_reduce",
        in_flight_monotonic_seconds=in_flight,
        **fields,  # type: ignore[arg-type]
    )


def reported(rank: int, *collectives: CollectiveReading, **fields: object) -> ProbeReading:
    return probe(50.0, 100 + rank, collectives=collectives, **fields)


def test_whoever_launched_fewer_is_waited_for() -> None:
    ranks = {
        0: reported(0, collective(9, 40.0)),
        1: reported(1, collective(9, 41.0)),
        2: reported(2, collective(8)),
    }
    assert waits_now(ranks) == {0: (2,), 1: (2,)}


def test_ranks_that_all_came_wait_for_nobody() -> None:
    assert waits_now({rank: reported(rank, collective(9, 40.0)) for rank in range(3)}) == {}


def test_who_has_launched_one_and_gone_on_does_not_wait() -> None:
    ranks = {0: reported(0, collective(9, 40.0, host_waits=False)), 1: reported(1, collective(8))}
    assert waits_now(ranks) == {}


def test_a_rank_whose_python_launches_none_in_a_group_is_not_behind() -> None:
    ranks = {0: reported(0, collective(9, 40.0)), 1: reported(1, collective(0))}
    assert waits_now(ranks) == {}


def test_a_rank_outside_of_the_group_is_not_waited_for() -> None:
    ranks = {
        0: reported(0, collective(9, 40.0, ranks=(0, 1))),
        1: reported(1, collective(8)),
        2: reported(2, collective(3)),
    }
    assert waits_now(ranks) == {0: (1,)}


def test_a_rank_that_never_was_in_the_group_says_nothing() -> None:
    assert waits_now({0: reported(0, collective(9, 40.0)), 1: reported(1)}) == {}


def test_the_dead_are_waited_for_and_do_not_wait() -> None:
    ranks = {
        0: reported(0, collective(9, 40.0)),
        1: reported(1, collective(8, 39.0), ended_monotonic_seconds=45.0),
    }
    assert waits_now(ranks) == {0: (1,)}


def test_the_last_to_come_is_waited_for() -> None:
    tracks = {
        0: Track(segments(("forward", 0.0, 1), ("comm", 2.0, 1), ("data", 5.5, 2)), 9.0),
        1: Track(segments(("forward", 0.0, 1), ("comm", 5.0, 1), ("data", 5.5, 2)), 9.0),
    }
    cut_off = {
        rank: Track((*segments(("other", -1.0, 0)), *t.segments), t.end)
        for rank, t in tracks.items()
    }
    assert waits_past(cut_off, 9.0) == {0: [Wait(2.0, 5.0, 1)], 1: []}


def test_whoever_has_not_come_is_waited_for_until_now() -> None:
    tracks = {
        0: Track(segments(("forward", 0.0, 1), ("comm", 2.0, 1)), 60.0),
        1: Track(segments(("forward", 0.0, 1), ("backward", 1.0, 1)), 60.0),
    }
    assert waits_past(tracks, 60.0) == {0: [Wait(2.0, 60.0, 1)], 1: []}


def test_whoever_died_is_waited_for_until_now() -> None:
    tracks = {
        0: Track(segments(("comm", 2.0, 1)), 60.0),
        1: Track(segments(("backward", 1.0, 1)), 3.0),
    }
    assert waits_past(tracks, 60.0)[0] == [Wait(2.0, 60.0, 1)]


def test_in_a_step_of_which_the_beginning_is_forgotten_nothing_is_counted() -> None:
    """One rank still has both collectives of the step, the other only the second: they do not match."""
    tracks = {
        0: Track(
            segments(("comm", 1.0, 1), ("forward", 2.0, 1), ("comm", 3.0, 1), ("data", 4.0, 2)), 9.0
        ),
        1: Track(segments(("forward", 2.0, 1), ("comm", 3.0, 1), ("data", 4.0, 2)), 9.0),
    }
    assert waits_past(tracks, 9.0) == {0: [], 1: []}


@given(st.lists(st.lists(st.floats(0.01, 2.0), min_size=3, max_size=3), min_size=1, max_size=12))
def test_waits_are_exactly_the_time_until_the_slowest_comes(work: list[list[float]]) -> None:
    tracks, truth, start = {rank: [("other", -1.0, 0)] for rank in range(3)}, [0.0] * 3, 0.0
    for number, seconds in enumerate(work, 1):
        slowest = max(seconds)
        for rank, own in enumerate(seconds):
            tracks[rank] += [("forward", start, number), ("comm", start + own, number)]
            if slowest - own > 0.001:
                truth[rank] += slowest - own
        start += slowest + 0.1
    for track in tracks.values():
        track.append(("data", start, len(work) + 1))
    waits = waits_past(
        {rank: Track(segments(*each), start) for rank, each in tracks.items()}, start
    )
    for rank, found in waits.items():
        assert all(wait.rank != rank for wait in found)
        assert sum(wait.end - wait.start for wait in found) == pytest.approx(truth[rank], abs=0.01)


def test_the_straggler_of_the_simulator_is_found() -> None:
    node = SimulatedNode("straggler", start_time_seconds=1.79e9)
    frame = fold(*[node.sample_at(float(at)) for at in range(-10, 1)])
    tracks = {}
    for rank in frame.jobs[0].ranks:
        past = frame.rank_history(rank.pid, rank.start_time_seconds)
        assert past is not None and rank.rank is not None
        tracks[rank.rank] = Track(past.segments, frame.monotonic_seconds)
    waits = waits_past(tracks, frame.monotonic_seconds)
    assert all(wait.rank == 3 for found in waits.values() for wait in found)
    assert sum(wait.end - wait.start for wait in waits[3]) == 0
    assert all(len(waits[rank]) >= 4 for rank in range(8) if rank != 3)
