"""Ranks that wait in different places, or have launched fewer collectives than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gputop.probes.model.probe_readings import CollectiveReading, ProbeReading
from gputop.probes.model.rank_readings import CommunicatorRankReading, CommunicatorReading, Stack

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, rank_pid
from support.stall_scenes import (
    ALL,
    BACKWARD,
    FROM,
    LATE,
    SPINS,
    VICTIM,
    frames,
    in_nccl,
    mismatch,
    reported,
)

BARRIER = frames("torch/distributed/distributed_c10d.py:barrier:5000", "train.py:main:120")


def test_where_all_gpus_spin_counts_tell_who_is_missing() -> None:
    spins = {"state": "R", "voluntary_switches": 9, "cpu_seconds": 10.0}
    everybody = in_nccl(spins, SPINS)
    assert reported(play(everybody, 40)) == {"RUN405": None}

    def script(second: float) -> Changes:
        counts = (communicator(*LATE),) if second >= FROM + 3 else ()
        return replace(everybody(second), communicators=counts)

    assert reported(play(script, 40)) == {"RUN404": VICTIM}


def test_ranks_that_wait_in_different_places() -> None:
    played = play(mismatch(BARRIER), 25)
    assert reported(played) == {"RUN404": VICTIM}
    words = evidence(played.one("RUN404"), "places").value
    assert "rank 3: main (train.py:120)" in str(words)
    assert f"gputop stacks {rank_pid(VICTIM)} shows" in played.one("RUN404").next_step


def communicator(*launched: int, remote: tuple[str, int] | None = None) -> CommunicatorReading:
    """Of all ranks here, and perhaps of one elsewhere."""
    ranks = [
        CommunicatorRankReading(rank=rank, pid=rank_pid(rank), host="10.0.0.1", launched=count)
        for rank, count in enumerate(launched)
    ]
    if remote:
        host, count = remote
        ranks.append(CommunicatorRankReading(rank=len(ranks), host=host, launched=count))
    return CommunicatorReading(
        monotonic_seconds=BEGAN, id="0xabc", size=len(ranks), ranks=tuple(ranks)
    )


def counted(place: Stack | None, *readings: CommunicatorReading) -> Script:
    """All wait, in one place as far as stacks tell, and RAS has been asked."""
    waiting = mismatch(place)

    def script(second: float) -> Changes:
        return replace(waiting(second), communicators=readings if second >= FROM + 3 else ())

    return script


@pytest.mark.parametrize("place", [BACKWARD, None])
def test_counts_of_collectives_name_the_rank_where_stacks_do_not(place: Stack | None) -> None:
    played = play(counted(place, communicator(*LATE)), 25)
    assert reported(played) == {"RUN404": VICTIM}
    finding = played.one("RUN404")
    assert finding.confidence == 1.0
    words = evidence(finding, "launched_collectives").value
    assert words == "rank 3: 1010, the most is 1011 (communicator 0xabc of 8)"


def test_equal_counts_and_those_of_other_jobs_name_nobody() -> None:
    assert reported(play(counted(BACKWARD, communicator(*[1011] * GPUS)), 25)) == {"RUN405": None}
    strange = CommunicatorReading(
        monotonic_seconds=BEGAN,
        id="0xdef",
        ranks=(CommunicatorRankReading(rank=0, launched=7), CommunicatorRankReading(rank=1)),
    )
    assert reported(play(counted(BACKWARD, strange), 25)) == {"RUN405": None}


def test_a_rank_of_another_node_is_named_by_its_host() -> None:
    reading = communicator(*[1011] * GPUS, remote=("10.0.0.7", 1009))
    finding = play(counted(BACKWARD, reading), 25).one("RUN404")
    assert finding.subject.kind == "job"
    words = evidence(finding, "launched_collectives").value
    assert "rank 8 on 10.0.0.7: 1009" in str(words)
    assert any(f"gputop stacks {rank_pid(rank)} shows" in finding.next_step for rank in ALL)


def probed(launched: Sequence[int], own: Sequence[int | None]) -> Script:
    """All wait, and the probes count: by hooks, and as the group itself does."""
    waiting = mismatch(None)

    def script(second: float) -> Changes:
        probes = [
            ProbeReading(
                monotonic_seconds=BEGAN + second,
                pid=rank_pid(rank),
                start_time_seconds=5001.0,
                rank=rank,
                phase="comm",
                phase_monotonic_seconds=BEGAN + min(second, FROM),
                phase_seconds={"comm": second},
                collectives=(
                    CollectiveReading(
                        group="default",
                        sequence=launched[rank],
                        group_sequence=own[rank],
                        operation="all_reduce",
                    ),
                ),
            )
            for rank in ALL
        ]
        return replace(waiting(second), probes=probes)

    return script


def test_the_probes_counts_name_the_rank() -> None:
    nothing = [None] * GPUS
    finding = play(probed(LATE, nothing), 25).one("RUN404")
    assert finding.subject.rank == VICTIM
    words = evidence(finding, "launched_collectives").value
    assert words == "rank 3: 1010, the most is 1011 (group default, last all_reduce)"
    # With what DDP launches by itself only the group's own numbers differ.
    own = play(probed([7] * GPUS, LATE), 25).one("RUN404")
    assert own.subject.rank == VICTIM
    assert reported(play(probed([7] * GPUS, [1011] * GPUS), 25)) == {"RUN405": None}
