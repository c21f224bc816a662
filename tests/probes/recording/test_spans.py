"""Spans and steps in columns come back as they were, in few bytes; what is no columns is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.model.probe_readings import ProbeReading, SegmentReading, StepReading
from gputop.probes.model.sample import Sample
from gputop.probes.recording.block import BadBlock, encode, entries_of
from gputop.probes.recording.columns import pack, unpack
from gputop.probes.recording.spans import packed, unpacked

from support.frame_samples import sample
from support.recordings import NOTE

SECOND = 1_000_000_000
PHASES = ("data", "forward", "backward", "comm", "other")
NANOSECONDS = st.integers(0, 10**15)
TIMES = NANOSECONDS.map(lambda number: number / SECOND)
ODD_TIMES = st.floats(allow_nan=False)
PHASE_TIMES = st.dictionaries(st.sampled_from(PHASES), TIMES, max_size=5)


def segments(times: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    one = st.builds(SegmentReading, st.sampled_from(PHASES), times, st.integers(0, 2**40))
    return st.lists(one, max_size=6).map(tuple)


def steps(times: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    one = st.builds(
        StepReading,
        number=st.integers(0, 2**40),
        monotonic_seconds=times,
        seconds=times,
        phases=PHASE_TIMES,
        gpu_phases=PHASE_TIMES,
        run_ahead_seconds=st.none() | TIMES,
        samples=st.none() | st.floats(allow_nan=False),
        loss=st.none() | st.floats(allow_nan=False),
        micro_steps=st.integers(0, 9),
        skipped=st.booleans(),
    )
    return st.lists(one, max_size=4).map(tuple)


def probes(times: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    one = st.builds(
        ProbeReading,
        monotonic_seconds=TIMES,
        pid=st.integers(1, 3),
        start_time_seconds=st.just(5.0),
        segments=segments(times),
        steps=steps(times),
    )
    return st.lists(one, max_size=3).map(tuple)


def recorded(times: st.SearchStrategy[float]) -> st.SearchStrategy[list[Sample]]:
    one = probes(times).map(lambda made: sample(10.0, probes=made))
    return st.lists(one, min_size=1, max_size=5)


@given(recorded(TIMES))
def test_whole_nanoseconds_come_back_from_columns(samples: list[Sample]) -> None:
    bare, columns = packed(samples)
    assert not any(probe.segments or probe.steps for each in bare for probe in each.probes)
    assert unpacked(bare, columns) == samples


@given(recorded(TIMES | ODD_TIMES))
def test_any_times_come_back_from_a_block(samples: list[Sample]) -> None:
    assert entries_of(encode([*samples, NOTE], thinned=True)) == [*samples, NOTE]


@given(st.lists(st.integers(-(2**61), 2**61)))
def test_numbers_come_back(values: list[int]) -> None:
    assert unpack(pack(values)) == values


@pytest.mark.parametrize(
    "column",
    [
        [0, 1],
        [0, 0, b""],
        [0, 9, bytes(9)],
        [0, 2, b"abc"],
        ["0", 1, b""],
        [0, 1, "a"],
        [0.0, 1, b"a"],
    ],
)
def test_what_is_no_column_is_refused(column: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"column|unpack"):
        unpack(column)


def trained(seconds: int = 60, steps_per_second: int = 5) -> list[Sample]:
    """As a probe tells it: spans that lie within steps, each on the nanosecond."""
    found: list[Sample] = []
    moment, number = 10**12, 0
    for second in range(seconds):
        spans: list[SegmentReading] = []
        ended: list[StepReading] = []
        for _ in range(steps_per_second):
            began, number = moment, number + 1
            took: dict[str, int] = {}
            for at, phase in enumerate(PHASES):
                spans.append(SegmentReading(phase, moment / SECOND, number))
                took[phase] = 37_000_000 + (number * 7919 * (at + 1)) % 90_001
                moment += took[phase]
            phases = {phase: each / SECOND for phase, each in took.items()}
            whole = (moment - began) / SECOND
            ended.append(
                StepReading(
                    number=number, monotonic_seconds=moment / SECOND, seconds=whole, phases=phases
                )
            )
        probe = ProbeReading(
            monotonic_seconds=moment / SECOND,
            pid=7,
            start_time_seconds=5.0,
            segments=tuple(spans),
            steps=tuple(ended),
        )
        found.append(sample(float(second), probes=(probe,)))
    return found


def test_steps_that_follow_from_their_spans_cost_next_to_nothing() -> None:
    samples = trained()
    spans = sum(len(probe.segments) for each in samples for probe in each.probes)
    small = len(encode(samples, thinned=True))
    assert small < 4.5 * spans
    assert small < 0.4 * len(encode(samples))
    assert entries_of(encode(samples, thinned=True)) == samples


@given(st.recursive(st.none() | st.integers() | st.binary() | st.text(), st.lists, max_leaves=9))
def test_columns_of_anything_are_no_more_than_a_bad_block(value: Any) -> None:
    samples = trained(2)
    bare, columns = packed(samples)
    for name in columns[0]:
        wrong = [{**columns[0], name: value}]
        try:
            unpacked(bare, wrong)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            continue


def test_a_block_whose_columns_do_not_fit_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(samples: list[Sample]) -> Any:
        bare, columns = packed(samples)
        return bare, [{**each, "codes": each["codes"][:-3]} for each in columns]

    monkeypatch.setattr("gputop.probes.recording.block.packed", cut)
    with pytest.raises(BadBlock):
        entries_of(encode(trained(2), thinned=True))
