"""A rank that goes nowhere while the others wait for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from gputop.probes.model.probe_readings import CollectiveReading
from gputop.probes.model.rank_readings import Stack

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import GPUS
from support.stall_scenes import (
    ALL,
    FROM,
    JUST_NOW,
    LATE,
    LOADING,
    LONG_AGO,
    LOOPING,
    RULES,
    SLEEPING,
    SPINS,
    VICTIM,
    assert_one_finding_with_the_right_rank,
    frames,
    in_nccl,
    reported,
    stall,
    thread,
    veiled,
    with_pages,
)


@pytest.mark.parametrize(
    ("victim", "stack"),
    [
        (SLEEPING, LOADING),
        (SLEEPING, None),
        (LOOPING, None),
    ],
)
def test_one_finding_with_the_right_rank(victim: Mapping[str, Any], stack: Stack | None) -> None:
    assert_one_finding_with_the_right_rank(victim, stack, "RUN406")


def test_without_wait_channels_the_one_that_runs_is_waited_for() -> None:
    loops = veiled(lambda second: {"state": "R", "cpu_seconds": 10.0 + second})
    assert reported(play(loops, 25)) == {"RUN406": VICTIM}
    assert reported(play(veiled(lambda _: {"state": "T"}), 25)) == {"RUN423": VICTIM}


IDLE = {"utilization_ratio": 0.0, "sm_active_ratio": None, "power_watts": 90.0}


def test_ranks_whose_gpus_spin_wait_though_their_hosts_run() -> None:
    played = play(in_nccl(SLEEPING, IDLE), 40)
    assert reported(played) == {"RUN406": VICTIM}
    assert evidence(played.one("RUN406"), "waiting_gpus").value == "only spin, with flat power"
    stopped = play(in_nccl({"state": "T"}, SPINS), 40)
    assert reported(stopped) == {"RUN423": VICTIM}


def test_a_wait_of_four_seconds_is_no_stall() -> None:
    assert not play(stall(SLEEPING, until=FROM + 4), 20).ever() & RULES


def test_it_clears_when_the_job_goes_on() -> None:
    played = play(stall(SLEEPING, until=FROM + 12), 40)
    assert "RUN406" in played.ever()
    assert reported(played) == {}


def test_an_error_after_a_minute_with_both_witnesses() -> None:
    assert play(stall(SLEEPING, LOADING), FROM + 50).one("RUN406").severity == "warning"
    finding = play(stall(SLEEPING, LOADING), FROM + 70).one("RUN406")
    assert finding.severity == "error"
    assert evidence(finding, "place").value == "load_batch (data.py:88)"
    assert evidence(finding, "kept_waiting").value == "ranks 0, 1, 2, 4, 5, 6, 7"
    assert "data.py:88" in finding.next_step


def in_a_collective(ages: Mapping[str, Any], launched: Sequence[int]) -> Script:
    """Hosts spin in a collective that the victim, which sleeps over its data, has not launched."""

    def script(second: float) -> Changes:
        spins = {"state": "R", "cpu_seconds": 10.0 + second, "voluntary_switches": 9}
        threads = [
            thread(rank, second, 0.0, **(SLEEPING if rank == VICTIM else spins)) for rank in ALL
        ]
        probes = [
            msgspec.structs.replace(
                each,
                phase="data" if each.rank == VICTIM else "comm",
                collectives=(
                    CollectiveReading(
                        group="default",
                        sequence=launched[each.rank or 0],
                        operation="all_reduce",
                        in_flight_monotonic_seconds=(
                            None if each.rank == VICTIM else each.phase_monotonic_seconds
                        ),
                    ),
                ),
            )
            for each in with_pages({}, ages)(second).probes
        ]
        return Changes(threads=threads, probes=probes)

    return script


def test_who_spins_in_a_collective_waits_where_pages_tell_for_whom_and_how_long() -> None:
    finding = play(in_a_collective(LONG_AGO, LATE), 1).one("RUN406")
    assert (finding.subject.rank, finding.severity) == (VICTIM, "error")
    assert evidence(finding, "kept_waiting").value == "ranks 0, 1, 2, 4, 5, 6, 7"
    assert not play(in_a_collective(JUST_NOW, LATE), 1).ever() & RULES
    # Their pages say that they are inside of one, whatever the counts say.
    assert reported(play(in_a_collective(LONG_AGO, [1011] * GPUS), 1)) == {"RUN406": VICTIM}


@pytest.mark.parametrize(
    ("victim", "doing"),
    [
        ({"wait_channel": "hrtimer_nanosleep"}, "sleeps"),
        ({"wait_channel": "futex_do_wait"}, "sleeps"),
        ({"wait_channel": "inet_csk_accept"}, "waits for a socket or pipe"),
        ({"wait_channel": "do_wait"}, "waits for another program"),
        (LOOPING, "runs Python"),
    ],
)
def test_a_main_thread_that_sleeps_is_not_said_to_run(
    victim: Mapping[str, Any], doing: str
) -> None:
    (job,) = play(stall(victim, frames("job.py:main:6")), 10).last.frame.jobs
    assert (job.ranks[VICTIM].doing, job.ranks[VICTIM].place) == (doing, "main (job.py:6)")
