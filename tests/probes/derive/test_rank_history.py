"""What is remembered of a rank: strung together without gaps, bounded, exact over the last minute."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.derive.rank_history import (
    MINUTE_SECONDS,
    SEGMENTS,
    STEPS,
    append_reading,
    minute_phases,
)
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.rank_history import RankHistory
from gputop.probes.simulator import SimulatedNode

from support.probe_scenes import probe, segments, step


def remembered(*probes: ProbeReading) -> RankHistory:
    past: RankHistory | None = None
    for each in probes:
        past = append_reading(past, each)
    assert past is not None
    return past


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.integers(0, 4),
)
def test_steps_are_strung_together_however_the_windows_overlap(
    grown: list[int], overlap: int
) -> None:
    """Each reading holds the steps since the one before, and some of those that it had already."""
    probes, known = [], 0
    for at, count in enumerate(grown):
        first = max(1, known - overlap + 1)
        known += count
        reported = tuple(step(number, float(number)) for number in range(first, known + 1))
        probes.append(probe(float(at), step=known, steps=reported))
    past = remembered(*probes)
    assert [each.number for each in past.steps] == list(range(1, known + 1))


def test_a_step_whose_events_came_later_takes_the_place_of_the_older_reading() -> None:
    resolved = step(1, 1.0, gpu_phases={"forward": 0.2})
    past = remembered(
        probe(1.5, step=1, steps=(step(1, 1.0),)),
        probe(2.5, step=2, steps=(resolved, step(2, 2.0))),
    )
    assert past.steps == (resolved, step(2, 2.0))


def test_what_changed_need_not_be_the_newest() -> None:
    resolved = step(1, 1.0, gpu_phases={"forward": 0.2})
    past = remembered(
        probe(3.5, step=3, steps=tuple(step(number, float(number)) for number in (1, 2, 3))),
        probe(4.0, step=3, steps=(resolved,)),
    )
    assert past.steps == (resolved, step(2, 2.0), step(3, 3.0))


def test_the_past_is_bounded() -> None:
    probes = [
        probe(
            float(at),
            step=at * 50 + 50,
            steps=tuple(step(number, number / 50) for number in range(at * 50 + 1, at * 50 + 51)),
            segments=segments(*[("forward", at * 64 + each, at) for each in range(64)]),
        )
        for at in range(40)
    ]
    past = remembered(*probes)
    assert len(past.steps) == STEPS and past.steps[-1].number == 2000
    assert len(past.segments) <= SEGMENTS


def test_the_same_reading_again_is_the_same_past() -> None:
    past = remembered(probe(1.0, step=1, steps=(step(1, 1.0),)))
    assert append_reading(past, probe(1.0, step=1)) is past


def test_figures_are_worked_out_anew_only_when_steps_change() -> None:
    past = remembered(probe(1.0, step=1, steps=(step(1, 1.0),)))
    later = append_reading(past, probe(1.4, step=1, steps=(step(1, 1.0),)))
    assert later.figures is past.figures and later.steps is past.steps


def test_segments_that_join_are_joined() -> None:
    first = segments(("data", 1.0, 1), ("forward", 1.2, 1))
    second = segments(("forward", 1.2, 1), ("backward", 1.9, 1))
    past = remembered(probe(1.5, segments=first), probe(2.0, segments=second))
    assert past.segments == (*first, second[1])


def test_segments_with_a_gap_between_are_not_joined() -> None:
    """Or else the last phase before the gap would seem to have lasted all through it."""
    first = segments(("data", 1.0, 1), ("forward", 1.2, 1))
    second = segments(("backward", 8.0, 4), ("comm", 8.5, 4))
    past = remembered(probe(1.5, segments=first), probe(9.0, segments=second))
    assert past.segments == second


def test_a_probe_that_was_started_again_starts_a_past_of_its_own() -> None:
    past = remembered(
        probe(10.0, step=90, steps=(step(90, 9.9),), phase_seconds={"forward": 80.0}),
        probe(11.0, step=1, steps=(step(1, 10.9),), phase_seconds={"forward": 0.9}),
    )
    assert [each.number for each in past.steps] == [1]


@pytest.mark.parametrize("scenario", ["healthy", "straggler", "gpu-lost"])
@pytest.mark.parametrize("seen", [1, 3, 90])
def test_the_last_minute_is_what_the_counters_grew_in_it(scenario: str, seen: int) -> None:
    """From the first reading on, for the page's own phases tell what was before it."""
    node = SimulatedNode(scenario, start_time_seconds=1.79e9)
    readings = [node.sample_at(float(at)).probes[3] for at in range(1 - seen, 1)]
    past, now = remembered(*readings), readings[-1]
    shares, seconds = minute_phases(past, now)
    before = node.sample_at(-seconds).probes[3]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert seconds <= MINUTE_SECONDS + 0.001 and (seen < 90 or seconds >= MINUTE_SECONDS - 0.001)
    for phase, share in shares.items():
        grown = now.phase_seconds[phase] - before.phase_seconds[phase]
        assert share == pytest.approx(grown / seconds, abs=0.01)


def test_one_phase_for_an_hour_fills_the_whole_minute_at_once() -> None:
    stuck = probe(
        4000.0,
        segments=segments(("forward", 399.0, 7), ("comm", 400.0, 7)),
        phase_seconds={"forward": 9.0, "comm": 3700.0},
    )
    shares, seconds = minute_phases(remembered(stuck), stuck)
    assert shares == {"forward": 0.0, "comm": 1.0}
    assert seconds == 60.0


def test_what_the_simulator_tells_is_strung_together_without_gaps() -> None:
    node = SimulatedNode("straggler", start_time_seconds=1.79e9)
    past = remembered(*[node.sample_at(2.0 * at - 120.0, 2.0).probes[1] for at in range(61)])
    numbers = [each.number for each in past.steps]
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 20
    for before, after in pairwise(past.steps):
        assert after.monotonic_seconds - before.monotonic_seconds == pytest.approx(after.seconds)
    for segment, following in pairwise(past.segments):
        assert segment.monotonic_seconds < following.monotonic_seconds
        assert segment.phase != following.phase
