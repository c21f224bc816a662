"""Ranks that wait in different meetings: who is odd, by counts, operations and places; and who is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from gputop.probes.model.probe_readings import CollectiveReading
from gputop.probes.model.rank_readings import CommunicatorRankReading, CommunicatorReading

from support.rules_scenes import Changes, Script, play
from support.scene_readings import BEGAN, probe, rank_pid
from support.stall_scenes import BARRIER, FROM, everybody, frames, reported

BACKWARD = frames("torch/autograd/graph.py:_engine_run_backward:979", "train.py:main:115")
LOSS = frames("torch/distributed/distributed_c10d.py:all_reduce:3000", "train.py:main:130")
RANKS = 3
Told = Mapping[str, tuple[int, str]]
"""Group → how many were launched in it, and the newest."""


def counted(told: Sequence[Told], inside: Mapping[int, str] | None = None) -> Script:
    """Three ranks that all wait; their pages count, and say in which operation each is."""
    base = everybody({}, None, others=None, ranks=RANKS, victims=frozenset())

    def script(second: float) -> Changes:
        changes = base(second)
        moved = min(second, FROM)
        changes.probes = tuple(
            msgspec.structs.replace(
                probe(rank, second, "comm", second - moved),
                rank=rank,
                step=40,
                step_seconds=0.1,
                step_monotonic_seconds=BEGAN + moved,
                collectives=tuple(
                    CollectiveReading(
                        group=group,
                        sequence=number,
                        operation=operation,
                        ranks=tuple(range(RANKS)),
                        in_flight_monotonic_seconds=BEGAN + moved
                        if (inside or {}).get(rank) == operation
                        else None,
                    )
                    for group, (number, operation) in of_rank.items()
                ),
            )
            for rank, of_rank in enumerate(told)
        )
        return changes

    return script


ALIKE = {"default": (57, "all_reduce")}


@pytest.mark.parametrize(
    ("odd", "name"),
    [
        ({"default": (57, "all_reduce"), "second": (1, "all_reduce")}, "one call more, where no other came"),
        ({"default": (58, "barrier")}, "a barrier on one rank only"),
        ({"default": (56, "all_reduce")}, "one call left out"),
    ],
)  # fmt: skip
def test_the_odd_one_has_made_more_calls_or_fewer(odd: Told, name: str) -> None:
    assert reported(play(counted([ALIKE, odd, ALIKE]), 25)) == {"RUN404": 1}, name


def test_who_skips_what_the_others_call_is_odd() -> None:
    both = {**ALIKE, "second": (1, "all_reduce")}
    assert reported(play(counted([both, ALIKE, both]), 25)) == {"RUN404": 1}


def test_who_is_in_another_operation_is_odd_though_the_counts_agree() -> None:
    reduce, barrier = {"default": (57, "all_reduce")}, {"default": (57, "barrier")}
    inside = {0: "all_reduce", 1: "barrier", 2: "all_reduce"}
    assert reported(play(counted([reduce, barrier, reduce], inside), 25)) == {"RUN404": 1}


def test_a_tie_names_all_and_blames_nobody() -> None:
    told = [{"default": (number, "all_reduce")} for number in (55, 56, 57)]
    finding = play(counted(told), 25).one("RUN404")
    assert (finding.subject.kind, finding.confidence) == ("job", 0.5)
    assert any(each.value == "ranks 0, 1, 2" for each in finding.evidence)


def test_stages_of_a_pipeline_differ_by_design() -> None:
    told = [{"default": (number, "send")} for number in (40, 80, 40)]
    assert reported(play(counted(told), 25)) == {"RUN405": None}


def test_equal_counts_are_no_mismatch() -> None:
    assert reported(play(counted([ALIKE] * RANKS), 25)) == {"RUN405": None}


@pytest.mark.parametrize("counts", [(1011, 1012, 1011), (1011, 1010, 1011)])
def test_ras_tells_the_same(counts: tuple[int, ...]) -> None:
    base = everybody({}, None, others=None, ranks=RANKS, victims=frozenset())
    members = [
        CommunicatorRankReading(rank=rank, pid=rank_pid(rank), host="a", launched=number)
        for rank, number in enumerate(counts)
    ]

    def script(second: float) -> Changes:
        changes = base(second)
        changes.communicators = (
            CommunicatorReading(monotonic_seconds=BEGAN, id="0x1", size=3, ranks=tuple(members)),
        )
        return changes

    assert reported(play(script, 25)) == {"RUN404": 1}


def test_by_places_most_decide() -> None:
    def at_barrier(victims: frozenset[int]) -> dict[str, int | None]:
        return reported(play(everybody({}, BARRIER, ranks=5, victims=victims), 25))

    assert at_barrier(frozenset({3})) == {"RUN404": 3}
    assert at_barrier(frozenset({0, 1, 2, 4})) == {"RUN404": 3}


def test_a_rank_that_stands_still_elsewhere_is_the_cause_and_no_mismatch() -> None:
    told = [ALIKE, {"default": (58, "barrier")}, ALIKE]
    base = counted(told)

    def script(second: float) -> Changes:
        changes = base(second)
        pages = list(changes.probes)
        pages[2] = msgspec.structs.replace(pages[2], phase="data")
        changes.probes = tuple(pages)
        return changes

    assert reported(play(script, 25)) == {"RUN406": 2}


def missing(without: tuple[int, ...], *, still: bool = True) -> dict[str, int | None]:
    base = everybody(
        {}, None, others=None, ranks=RANKS, victims=frozenset(), since=FROM if still else None
    )

    def script(second: float) -> Changes:
        changes = base(second)
        changes.without = (*range(RANKS, 8), *without)
        changes.threads = [each for each in changes.threads if each.pid - 1000 not in without]
        return changes

    return reported(play(script, 25))


def test_a_rank_that_was_never_seen_is_missed_by_those_that_stand_still() -> None:
    assert missing((1,)) == {"RUN424": 1, "RUN405": None}
    assert missing(()) == {"RUN405": None}
    assert missing((1,), still=False) == {}
