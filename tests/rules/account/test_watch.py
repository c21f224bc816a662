"""The account of the whole watch: worked out again from the frames, and nothing invented where none was read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from gputop.probes.model.frame import Frame
from gputop.probes.simulator.catalogue import SCENARIOS
from gputop.rules.account.entries import ENTRIES
from gputop.rules.account.minute import shares
from gputop.rules.account.watch import MOST_JOBS, WatchAccounts
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from support.account_scenes import account, assert_whole, gpu_shares, later, with_ranks
from support.input_scenes import waits_for_data
from support.replays import replay
from support.rules_scenes import (
    Changes,
    always,
    frames,
    play,
)
from support.scene_readings import GPUS
from support.tui_watch import played

_DATA = 0.3


@pytest.mark.parametrize(
    ("scenario", "probes"),
    [*((each, True) for each in SCENARIOS), ("healthy", False), ("input-bound", False)],
)
def test_every_account_of_every_scenario_sums_to_what_was_seen(scenario: str, probes: bool) -> None:
    judged = replay(scenario, probes=probes).last
    kinds = {each.subject.kind for each in judged.accounts}
    assert kinds >= {"gpu", "node"}
    for each in judged.accounts:
        assert_whole(each)
        assert each.entries.keys() <= ENTRIES.keys()
    for window in ("last minute", "watch"):
        whole = account(judged.accounts, "node", judged.frame.node, window)
        gpus = judged.accounts_of("gpu", window)
        assert whole.seconds == pytest.approx(sum(each.seconds for each in gpus))
        for name, entry in whole.entries.items():
            parts = [each.entries[name].seconds for each in gpus if name in each.entries]
            assert entry.seconds == pytest.approx(sum(parts))


def test_it_can_be_worked_out_again_from_the_frames() -> None:
    judgements = play(waits_for_data(_DATA, utilization=0.8), 50).judgements
    by_hand: dict[str, float] = {}
    busy = 0.0
    for before, after in pairwise(judgements):
        passed = after.frame.monotonic_seconds - before.frame.monotonic_seconds
        rank = after.frame.jobs[0].ranks[2]
        for phase, share in rank.phases.items():
            by_hand[phase] = by_hand.get(phase, 0.0) + passed * share
        assert after.frame.gpus[2].utilization_ratio is not None
        busy += passed * after.frame.gpus[2].utilization_ratio
    last = judgements[-1]
    host = account(last.accounts, "rank", "2")
    unknown = host.seconds - sum(by_hand.values())  # until the page was read a second time
    assert host.seconds == pytest.approx(50)
    assert host.entries["data"].seconds == pytest.approx(by_hand["data"])
    assert host.entries["compute"].seconds == pytest.approx(by_hand["forward"])
    assert unknown == pytest.approx(
        host.entries["unexplained"].seconds if "unexplained" in host.entries else 0.0, abs=1e-6
    )
    device = account(last.accounts, "gpu", "2")
    assert device.entries["data"].seconds == pytest.approx(50 - busy, abs=0.5)
    assert device.entries["compute"].seconds == pytest.approx(busy, abs=0.5)


def test_what_the_gpu_computes_through_is_not_lost() -> None:
    found = gpu_shares(play(waits_for_data(_DATA, utilization=1.0), 50).last)
    assert found == {"compute": pytest.approx(1.0)}


def test_a_gpu_that_idles_while_its_host_computes_is_not_explained() -> None:
    found = gpu_shares(play(waits_for_data(0.0, utilization=0.7), 50).last)
    assert found == {"compute": pytest.approx(0.7), "unexplained": pytest.approx(0.3)}


def test_without_a_probe_it_is_made_from_counters() -> None:
    last = play(always(every_gpu={"utilization_ratio": 0.6}), 50).last
    for kind, name in (("gpu", "3"), ("rank", "3"), ("job", last.frame.jobs[0].id)):
        found = account(last.accounts, kind, name)  # type: ignore[arg-type]
        assert shares(found) == {
            "compute": pytest.approx(0.6),
            "unexplained": pytest.approx(0.4),
        }
        assert {entry.origin for entry in found.entries.values()} == {"inferred"}


@pytest.mark.parametrize(
    "missing",
    [
        {"utilization_ratio": None},
        {"sm_active_ratio": 0.0, "power_watts": 120.0},
        {"sm_active_ratio": None, "power_watts": 120.0},
    ],
)
def test_what_no_counter_proves_is_not_called_compute(missing: dict[str, Any]) -> None:
    found = gpu_shares(play(always(every_gpu=missing), 50).last)
    assert found.get("unexplained", 0.0) > 0.9
    assert "compute" not in found


def test_a_broken_counter_is_not_believed_against_power() -> None:
    assert gpu_shares(play(always(every_gpu={"sm_active_ratio": 0.0}), 50).last)["compute"] > 0.9


def test_a_gpu_without_a_job_is_idle() -> None:
    idle = {"utilization_ratio": 0.0, "sm_active_ratio": 0.0, "power_watts": 70.0}
    last = play(always(without_job=True, every_gpu=idle), 50).last
    found = account(last.accounts, "gpu", "0")
    assert shares(found) == {"idle": pytest.approx(1.0)}
    assert found.entries["idle"].origin == "measured"


def test_lower_clocks_than_those_of_its_peers_are_lost_time() -> None:
    hot = {6: {"throttle_reasons": ("hw thermal slowdown",), "sm_clock_hertz": 1404e6}}
    last = play(always(gpus=hot), 50).last
    assert gpu_shares(last, 6)["throttled"] == pytest.approx(0.96 * 0.2)
    assert "throttled" not in gpu_shares(last, 5)


def test_all_of_a_stuck_step_was_lost_from_its_beginning_on() -> None:
    judged = played("gpu-lost")[1]
    age = next(rank.step_age_seconds for rank in judged.frame.jobs[0].ranks if rank.rank == 3)
    assert age is not None
    for kind, name in (("rank", "3"), ("gpu", "3")):
        found = account(judged.accounts, kind, name)  # type: ignore[arg-type]
        assert found.entries["stalled"].seconds == pytest.approx(age, abs=4)
    assert account(judged.accounts, "gpu", "0").entries["wait"].seconds == pytest.approx(age, abs=4)


def test_time_in_which_nobody_looked_is_in_no_entry() -> None:
    engine = Engine(make_rules())
    moments = [*map(float, range(20)), *map(float, range(300, 320))]
    for frame in frames(always(), moments):
        judged = engine.judge(frame)
    for kind, name in (("gpu", "0"), ("rank", "0")):
        found = account(judged.accounts, kind, name)  # type: ignore[arg-type]
        assert found.unseen_seconds is not None
        assert found.seconds + found.unseen_seconds == pytest.approx(319, abs=6)
        assert found.seconds <= 40
        minute = account(judged.accounts, kind, name, "last minute")  # type: ignore[arg-type]
        assert minute.seconds <= 22


def test_after_a_restart_of_the_node_it_begins_anew() -> None:
    def script(second: float) -> Changes:
        return Changes(boot_id="first" if second < 30 else "second")

    last = play(script, 40).last
    assert account(last.accounts, "gpu", "0").seconds <= 10


def _frame() -> Frame:
    return play(always(), 3).last.frame


def test_a_rank_that_restarts_begins_anew_and_its_gpu_goes_on() -> None:
    frame, watch = _frame(), WatchAccounts()
    for _ in range(20):
        watch.add(frame, (), ())
        frame = later(frame, 1.0)
    again = tuple(replace(rank, pid=rank.pid + 5000) for rank in frame.jobs[0].ranks)
    frame = with_ranks(frame, again)
    for _ in range(20):
        watch.add(frame, (), ())
        frame = later(frame, 1.0)
    found = tuple(watch.accounts(frame))
    assert account(found, "rank", "0").seconds == pytest.approx(20)
    assert account(found, "gpu", "0").seconds == pytest.approx(39)
    assert account(found, "job", frame.jobs[0].id).seconds == pytest.approx(39 * GPUS)


def test_ranks_that_share_a_gpu_pay_it_once() -> None:
    frame, watch = _frame(), WatchAccounts()
    both = tuple(replace(rank, gpu_index=0) for rank in frame.jobs[0].ranks[:2])
    frame = with_ranks(frame, both)
    for _ in range(31):
        watch.add(frame, (), ())
        frame = later(frame, 1.0)
    assert account(tuple(watch.accounts(frame)), "gpu", "0").seconds == pytest.approx(30)


def test_a_week_and_hundreds_of_jobs_need_no_more_memory_than_a_minute_of_each() -> None:
    frame, watch = _frame(), WatchAccounts()
    sizes: list[int] = []
    for number in range(3 * MOST_JOBS):
        ranks = tuple(
            replace(rank, pid=10_000 * number + at) for at, rank in enumerate(frame.jobs[0].ranks)
        )
        frame = with_ranks(frame, ranks, name=f"job {number}")
        for _ in range(8):
            watch.add(frame, (), ())
            frame = later(frame, 2.0)
        sizes.append(len(watch))
    assert sizes[-1] <= max(sizes[: 2 * MOST_JOBS])
    ended = [each.subject.id for each in watch.accounts(frame) if each.subject.kind == "job"]
    assert ended == [f"job {3 * MOST_JOBS - 1}"] * 2
    for _ in range(3000):
        watch.add(frame, (), ())
        frame = later(frame, 2.0)
        sizes.append(len(watch))
    assert max(sizes[-100:]) <= max(sizes[-2900:-2000])
