"""Whatever frames come, in whatever order of times: what was seen is split wholly, and no second twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gputop.rules.account.watch import WatchAccounts

from support.account_scenes import assert_whole, later, with_ranks
from support.rules_scenes import always, play
from support.scene_readings import GPUS

_SHARE = st.floats(0.0, 1.0)
_PHASES = st.dictionaries(
    st.sampled_from(["data", "forward", "backward", "comm", "checkpoint", "other", "mine"]),
    _SHARE,
    max_size=4,
)
_RANK = st.fixed_dictionaries(
    {
        "phases": _PHASES,
        "phase": st.sampled_from([None, "data", "comm", "forward"]),
        "phase_source": st.sampled_from([None, "measured", "sampled", "inferred"]),
        "step": st.none() | st.integers(0, 3),
        "step_p50_seconds": st.none() | st.just(1.0),
        "step_age_seconds": st.none() | st.floats(0, 100),
        "waits_for": st.sampled_from([(), (1,)]),
        "gpu_index": st.none() | st.integers(0, GPUS),
    }
)
_GPU = st.fixed_dictionaries(
    {
        "utilization_ratio": st.none() | _SHARE,
        "sm_active_ratio": st.none() | _SHARE,
        "power_watts": st.none() | st.floats(0, 700),
        "sm_clock_hertz": st.none() | st.floats(1e8, 2e9),
        "throttle_reasons": st.sampled_from([None, (), ("hw slowdown",), ("gpu idle",)]),
        "status": st.sampled_from(["ok", "stale", "lost"]),
    }
)
_MOMENT = st.tuples(
    st.just(0.0) | st.floats(0.001, 100.0),
    st.lists(_RANK, max_size=3),
    st.lists(_GPU, min_size=1, max_size=3),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_MOMENT, min_size=2, max_size=12))
def test_what_was_seen_and_what_was_not_is_all_the_time_that_passed(
    moments: list[tuple[float, list[dict[str, Any]], list[dict[str, Any]], bool]],
) -> None:
    frame, watch = play(always(), 2).last.frame, WatchAccounts()
    first = frame.jobs[0].ranks
    began: float | None = None
    for passed, ranks, gpus, stuck in moments:
        frame = later(
            frame,
            passed,
            gpus=tuple(
                replace(gpu, **gpus[gpu.index % len(gpus)], job_id=None) for gpu in frame.gpus
            ),
        )
        frame = with_ranks(
            frame,
            tuple(replace(rank, **changes) for rank, changes in zip(first, ranks, strict=False)),
        )
        watch.add(frame, (), {first[0].pid} if stuck else ())
        began = frame.monotonic_seconds if began is None else began
    found = tuple(watch.accounts(frame))
    assert began is not None
    elapsed = frame.monotonic_seconds - began
    for each in found:
        assert_whole(each)
        assert each.window == "watch" or each.seconds <= 60 * GPUS + 1e-6
        if each.window == "watch" and each.subject.kind in ("gpu", "rank"):
            assert each.unseen_seconds is not None
            assert each.seconds + each.unseen_seconds <= elapsed + 1e-6
        if each.window == "last minute" and each.subject.kind == "gpu":
            assert each.seconds <= 62.0 + 1e-6


def test_nothing_is_told_of_a_single_frame() -> None:
    watch = WatchAccounts()
    frame = play(always(), 2).last.frame
    watch.add(frame, (), ())
    assert tuple(watch.accounts(frame)) == ()


def test_a_clock_that_stands_still_adds_nothing() -> None:
    watch = WatchAccounts()
    frame = play(always(), 2).last.frame
    for _ in range(5):
        watch.add(frame, (), ())
    watch.add(later(frame, 1.0), (), ())
    whole = [each for each in watch.accounts(later(frame, 1.0)) if each.window == "watch"]
    gpus = [each.seconds for each in whole if each.subject.kind == "gpu"]
    assert gpus == [pytest.approx(1.0)] * GPUS
