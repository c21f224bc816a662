"""Figures over recent steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.derive.step_statistics import RECENT, figures_of, percentile, spread
from gputop.probes.model.step_statistics import NO_FIGURES

from support.probe_scenes import step

durations = st.lists(st.floats(1e-4, 1e3), min_size=1, max_size=300)


@given(durations)
def test_percentiles_are_values_that_occurred_and_are_in_order(values: list[float]) -> None:
    figures = figures_of([step(at, float(at), value) for at, value in enumerate(values)])
    assert figures.p50_seconds is not None and figures.p99_seconds is not None
    assert {figures.p50_seconds, figures.p99_seconds} <= {*values}
    assert min(values) <= figures.p50_seconds <= figures.p99_seconds <= max(values)


@pytest.mark.parametrize(
    ("count", "share", "place"), [(1, 0.5, 1), (2, 0.5, 1), (100, 0.99, 99), (101, 0.99, 100)]
)
def test_the_percentile_is_the_nearest_rank(count: int, share: float, place: int) -> None:
    assert percentile(list(range(1, count + 1)), share) == place


def test_the_spread_takes_no_notice_of_one_outlier() -> None:
    even = sorted([1.0] * 15 + [30.0])
    assert spread(even) == 0.0
    assert spread(sorted([0.9, 1.0, 1.1] * 10)) == pytest.approx(0.1)
    assert spread([1.0, 2.0]) is None


@given(durations)
def test_shares_sum_to_one(values: list[float]) -> None:
    steps = [
        step(at, float(at), value, phases={"data": value / 3, "comm": value / 3 * 2})
        for at, value in enumerate(values)
    ]
    assert sum(figures_of(steps).phases.values()) == pytest.approx(1.0)


def test_shares_are_those_of_the_recent_steps_alone() -> None:
    old = [step(at, 0.0, 1.0, phases={"compile": 1.0}) for at in range(RECENT)]
    new = [step(at, 0.0, 1.0, phases={"forward": 1.0}) for at in range(RECENT)]
    assert figures_of([*old, *new]).phases == {"forward": 1.0}


def test_gpu_time_and_the_hosts_are_of_the_same_steps() -> None:
    figures = figures_of(
        [
            step(1, 1.0, 2.0, gpu_phases={"forward": 0.5, "backward": 1.0}, run_ahead_seconds=0.2),
            step(2, 2.0, 9.0),  # its events are not done yet
        ]
    )
    assert (figures.host_seconds, figures.gpu_seconds) == (2.0, 1.5)
    assert figures.run_ahead_seconds == 0.2


def test_what_no_step_tells_is_unknown() -> None:
    assert figures_of([]) is NO_FIGURES
    figures = figures_of([step(1, 1.0)])
    assert figures.gpu_seconds is None and figures.run_ahead_seconds is None
    assert figures.samples is None and figures.tokens is None and figures.loss is None
    assert figures.throughput_spread_ratio is None


def test_the_loss_is_the_newest_that_was_given() -> None:
    assert figures_of([step(1, 1.0, loss=3.0), step(2, 2.0, loss=2.5), step(3, 3.0)]).loss == 2.5
