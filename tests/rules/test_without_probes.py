"""Without probes no rule is silently worse: it says that it is not evaluated, or it has another access method."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

from gputop.probes.model.frame import Frame, ProbeFrame
from gputop.probes.model.rank_history import RankHistory
from gputop.probes.model.rank_readings import ThreadReading, ThreadsReading
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.rules.history import History
from gputop.rules.rule import Scene

from support.replays import replay
from support.rules_scenes import (
    Changes,
    Script,
    frames,
    play,
)
from support.scenarios import FAULTS, PLAIN
from support.scene_readings import BEGAN, GPUS, probe, rank_pid

OTHER_METHODS = {
    "HST115": "the first that asks for the wait-for graph, which all rules about standing still share: "
    "stacks, threads and NCCL's RAS tell it too",
    "ENV602": "the environment of the ranks tells all but the settings of their loaders",
}
"""Rules that read what a probe tells, and say the same without one."""


@pytest.mark.unmeasured
@pytest.mark.parametrize("scenario", FAULTS)
def test_what_is_not_found_without_probes_is_said_not_to_be_looked_for(scenario: str) -> None:
    without = replay(scenario, probes=False)
    not_evaluated = {rule.id for rule in without.last.not_evaluated}
    assert replay(scenario).ever - without.ever <= not_evaluated


def all_wait(second: float) -> Changes:
    """Every rank sleeps in a collective."""
    return Changes(
        probes=[probe(rank, second, "comm", second) for rank in range(GPUS)],
        threads=[
            ThreadsReading(
                monotonic_seconds=BEGAN + second,
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                main=ThreadReading(
                    tid=rank_pid(rank),
                    name="python",
                    state="S",
                    cpu_seconds=3.0,
                    wait_channel="futex_do_wait",
                    voluntary_switches=2500,
                ),
            )
            for rank in range(GPUS)
        ],
    )


def scenes() -> Iterator[tuple[Frame, History]]:
    """Moments of scenarios, and of a job that hangs in a collective."""
    for scenario in PLAIN:
        engine = Engine(())
        for frame in replay(scenario).frames:
            engine.judge(frame)
            yield frame, engine.history
    engine = Engine(())
    for frame in frames(all_wait, range(25)):
        engine.judge(frame)
        yield frame, engine.history


@cache
def readers() -> frozenset[str]:
    """Ids of the rules that read what the probes tell, seen while they judge."""
    asked: set[str] = set()
    judging = ""

    class Watched(Frame, frozen=True, kw_only=True):
        def probe(self, pid: int, start_time_seconds: float) -> ProbeFrame | None:
            asked.add(judging)
            return super().probe(pid, start_time_seconds)

        def rank_history(self, pid: int, start_time_seconds: float) -> RankHistory | None:
            asked.add(judging)
            return super().rank_history(pid, start_time_seconds)

    for frame, history in scenes():
        scene = Scene(Watched(**msgspec.structs.asdict(frame)), history)
        for rule in make_rules():
            judging = rule.id
            list(rule.judge(scene))
    return frozenset(asked)


@pytest.mark.unmeasured
def test_each_rule_that_reads_probes_is_not_evaluated_without_or_has_another_access_method() -> (
    None
):
    without = replay("healthy", probes=False).last.not_evaluated
    # What several rules need is worked out for the first that asks: the others read no probe themselves.
    assert readers() - OTHER_METHODS.keys() <= {rule.id for rule in without}
    assert all("no probe" in rule.reason for rule in without)
    assert readers() >= OTHER_METHODS.keys()


def without_probes_in(*ranks: int) -> Script:
    def script(second: float) -> Changes:
        return Changes(
            probes=[
                probe(rank, second, "forward", 0.1) for rank in range(GPUS) if rank not in ranks
            ]
        )

    return script


@pytest.mark.parametrize(
    ("ranks", "reason"),
    [
        ((), None),
        ((3,), "1 of the ranks have no probe: start the job under `gputop run`"),
        (tuple(range(GPUS)), "the ranks have no probe: start the job under `gputop run`"),
    ],
)
def test_the_straggler_rule_says_for_want_of_what(
    ranks: tuple[int, ...], reason: str | None
) -> None:
    not_evaluated = {
        rule.id: rule.reason for rule in play(without_probes_in(*ranks), 10).last.not_evaluated
    }
    assert not_evaluated.get("RUN407") == reason


def test_a_job_of_one_rank_has_nobody_to_wait_for_it() -> None:
    alone = lambda _: Changes(without=range(1, GPUS))
    assert "RUN407" not in {rule.id for rule in play(alone, 10).last.not_evaluated}
