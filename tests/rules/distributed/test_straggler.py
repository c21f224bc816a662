"""The rank that the others wait for in every step, and what must not be taken for one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gputop.rules.closer_look import MOST_PEERS, uneven
from gputop.rules.distributed.straggler import waited_for_in_backward

from support.rules_scenes import Script, evidence, play
from support.scene_readings import GPUS, rank_pid
from support.straggler_scenes import (
    EVEN,
    HIDDEN,
    LATE,
    LATE_HIDDEN,
    VICTIM,
    WAITS,
    Phases,
    only_victim,
    sampled,
    training,
)


def test_the_rank_that_is_late_in_every_step_is_named() -> None:
    found = play(training(only_victim(LATE, WAITS)), 20).one("RUN407")
    assert (found.subject.rank, found.subject.gpu, found.severity) == (VICTIM, VICTIM, "warning")
    delay = evidence(found, "others_delay_ratio")
    assert delay.value == pytest.approx(0.38)
    assert delay.threshold == 0.2
    data = evidence(found, "late_phase_ratio")
    assert data.value == pytest.approx(0.4)
    assert data.threshold == pytest.approx(0.02)
    assert found.confidence == 0.9


def test_waiting_inside_the_backward_is_a_weaker_witness() -> None:
    found = play(training(only_victim(LATE_HIDDEN, HIDDEN)), 20).one("RUN407")
    assert (found.subject.rank, found.confidence) == (VICTIM, 0.6)


@pytest.mark.parametrize(
    ("late", "others", "reported"), [(LATE_HIDDEN, HIDDEN, VICTIM), (LATE, WAITS, None)]
)
def test_whether_the_others_wait_inside_their_backward_is_reported(
    late: Phases, others: Phases, reported: int | None
) -> None:
    judged = play(training(only_victim(late, others)), 20).last
    (job,) = judged.frame.jobs
    assert waited_for_in_backward(judged.active, job) == reported


def test_of_two_ranks_the_one_that_does_not_wait_is_late() -> None:
    script = training(lambda rank, _: LATE if rank == 0 else WAITS, ranks=2)
    assert play(script, 20).one("RUN407").subject.rank == 0


def test_a_little_late_is_information() -> None:
    a_little = {**LATE, "data": 0.2, "backward": 0.5, "comm": 0.1}
    waits = {**WAITS, "data": 0.05, "backward": 0.5, "comm": 0.25}
    assert play(training(only_victim(a_little, waits)), 20).one("RUN407").severity == "info"


@pytest.mark.parametrize(
    "phases",
    [
        lambda rank, _: EVEN,
        lambda rank, _: {**WAITS, "data": 0.4, "comm": 0.01},
        lambda rank, number: LATE if rank == number % GPUS else WAITS,
        lambda rank, number: LATE if (rank, number % 12) == (VICTIM, 0) else EVEN,
        lambda rank, _: {**LATE, "data": 0.0, "checkpoint": 0.4} if rank == 0 else WAITS,
    ],
    ids=["even", "all starve", "rotates", "hiccups", "saves"],
)
@pytest.mark.unmeasured
def test_nobody_is_blamed(phases: Callable[[int, int], Phases]) -> None:
    assert "RUN407" not in play(training(phases), 40).ever()


def test_one_rank_alone_has_nobody_to_wait() -> None:
    assert "RUN407" not in play(training(lambda *_: LATE, ranks=1), 20).ever()


BUSY: Phases = {"other": 0.98, "backward": 0.02}
WAITING: Phases = {"other": 0.28, "backward": 0.72}


def test_without_probes_sampled_stacks_tell_it() -> None:
    found = play(sampled(only_victim(BUSY, WAITING)), 20).one("RUN407")
    assert (found.subject.rank, found.severity, found.confidence) == (VICTIM, "warning", 0.5)
    assert evidence(found, "others_delay_ratio").value == pytest.approx(0.7)
    assert evidence(found, "dumps").value == 120


@pytest.mark.parametrize(
    "script",
    [
        sampled(only_victim(BUSY, WAITING), mixed=2),
        sampled(only_victim(BUSY, WAITING), pairwise=5),
        sampled(only_victim(BUSY, WAITING), count=60),
        sampled(only_victim({"other": 0.5, "backward": 0.5}, WAITING)),
        sampled(lambda rank, _: WAITING),
        sampled(only_victim({"checkpoint": 0.98, "backward": 0.02}, WAITING)),
    ],
    ids=["turns", "stages", "too few", "a little", "even", "saves"],
)
@pytest.mark.unmeasured
def test_by_sampled_stacks_nobody_is_blamed(script: Script) -> None:
    assert "RUN407" not in play(script, 40).ever()


def test_ranks_that_wait_unequally_are_sampled_where_there_is_no_probe() -> None:
    frame = play(sampled(only_victim(BUSY, WAITING)), 20).last.frame
    assert set(uneven(frame)) >= {rank_pid(VICTIM)}
    assert len(uneven(frame)) == 1 + MOST_PEERS
    even = play(sampled(lambda rank, _: WAITING), 20).last.frame
    assert uneven(even) == ()
    probed = play(training(only_victim(LATE, WAITS)), 20).last.frame
    assert uneven(probed) == ()
