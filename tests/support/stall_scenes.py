"""Jobs that stand still: one rank does as reported from a second on, and all others wait for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from gputop.probes.model.rank_readings import (
    Stack,
    StackFrameReading,
    StackReading,
    ThreadReading,
    ThreadsReading,
)

from support.rules_scenes import (
    Changes,
    Played,
    Script,
    play,
)
from support.scene_readings import BEGAN, GPUS, probe, rank_pid, worker_pid

FROM = 5.0
"""Second at which the fault begins."""
VICTIM = 3
ALL = set(range(GPUS))


def thread(rank: int, second: float, since: float | None, **fields: Any) -> ThreadsReading:
    """A main thread that runs and waits by turns, and from ``since`` on does as ``fields`` say."""
    moved = second if since is None else min(second, since)
    given: dict[str, Any] = {
        "tid": rank_pid(rank),
        "name": "python",
        "state": "S",
        "cpu_seconds": 0.6 * moved,
        "wait_channel": "futex_do_wait",
        "voluntary_switches": int(500 * moved),
    }
    if since is not None and second >= since:
        given |= fields
        if given.pop("runs", False):
            given |= {"state": "R", "cpu_seconds": 0.6 * since + second - since}
    return ThreadsReading(
        monotonic_seconds=BEGAN + second,
        pid=rank_pid(rank),
        start_time_seconds=5001.0,
        main=ThreadReading(**given),
    )


def frames(*places: str) -> Stack:
    parts = [place.split(":") for place in places]
    return tuple(
        StackFrameReading(name=name, file=file, line=int(line)) for file, name, line in parts
    )


BACKWARD = frames("torch/autograd/graph.py:_engine_run_backward:979", "train.py:main:115")
LOADING = frames(
    "data.py:load_batch:88", "torch/utils/data/_utils/fetch.py:fetch:54", "train.py:main:111"
)


def stacks(second: float, by_rank: Mapping[int, Stack]) -> list[StackReading]:
    return [
        StackReading(
            monotonic_seconds=BEGAN + second,
            pid=rank_pid(rank),
            start_time_seconds=5001.0,
            main_stacks=(stack, stack, stack),
            taken=3,
        )
        for rank, stack in by_rank.items()
    ]


def stall(
    victim: Mapping[str, Any],
    stack: Stack | None = None,
    *,
    until: float = 1e9,
    workers: Mapping[str, Any] | None = None,
    victims: frozenset[int] = frozenset({VICTIM}),
) -> Script:
    """The victim does as reported from `FROM` on, and all others wait for it."""

    def script(second: float) -> Changes:
        over = second >= until
        since = None if over else FROM
        moving = second - (until - FROM) if over else second
        readings = [
            thread(rank, moving if over else second, since, **(victim if rank in victims else {}))
            for rank in ALL
        ]
        at = BEGAN + second
        fresh = [ThreadsReading(**{**_fields(each), "monotonic_seconds": at}) for each in readings]
        known = dict.fromkeys(ALL, BACKWARD) | {rank: stack for rank in victims if stack}
        seen = stacks(second, known) if stack and not over and second >= FROM + 2 else []
        frozen = workers if workers is not None and second >= FROM else {}
        return Changes(threads=fresh, stacks=seen, every_worker=frozen)

    return script


def _fields(reading: ThreadsReading) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in reading.__struct_fields__}


SLEEPING = {"wait_channel": "hrtimer_nanosleep"}
LOOPING: Mapping[str, Any] = {"runs": True, "wait_channel": None, "voluntary_switches": 2500}
RULES = {
    "HST115",
    "HST125",
    "RUN404",
    "RUN405",
    "RUN406",
    "RUN419",
    "RUN421",
    "RUN423",
    "RUN424",
    "RUN425",
    "RUN426",
    "RUN427",
    "RUN428",
}


def reported(played: Played) -> dict[str, int | None]:
    return {
        finding.id: finding.subject.rank for finding in played.last.active if finding.id in RULES
    }


def assert_one_finding_with_the_right_rank(
    victim: Mapping[str, Any], stack: Stack | None, rule: str
) -> None:
    """Within ten seconds the rule names the victim, and no other rule names anybody."""
    played = play(stall(victim, stack), 25)
    assert reported(played) == {rule: VICTIM}
    began = played.active_from(rule)
    assert began is not None
    assert began <= FROM + 10


def without_bytes(script: Script) -> Script:
    """The same; the victim's process neither reads nor writes nor uses a core."""

    def dried(second: float) -> Changes:
        frozen = {"read_bytes": 5000, "write_bytes": 5000, "cpu_seconds": 100.0}
        return replace(script(second), processes={rank_pid(VICTIM): frozen})

    return dried


def veiled(victim: Callable[[float], Mapping[str, Any]], since: float | None = FROM) -> Script:
    """The kernel shows no wait channels, as of another user's processes; all but the victim sleep.

    Args:
        victim: what its thread does at a second.
        since: when that begins; ``None``: it runs and waits by turns.
    """

    def script(second: float) -> Changes:
        hidden = {"wait_channel": None}
        others = [thread(rank, second, FROM, **hidden) for rank in ALL - {VICTIM}]
        return Changes(
            threads=[*others, thread(VICTIM, second, since, **{**hidden, **victim(second)})]
        )

    return script


SPINS = {"utilization_ratio": 1.0, "sm_active_ratio": None, "power_watts": 180.0}
SILENT = {
    f"{kind}_{way}_bytes": 10**12 if kind == "pcie" else None
    for kind in ("pcie", "nvlink")
    for way in ("rx", "tx")
}


def in_nccl(victim: Mapping[str, Any], gpu: Mapping[str, Any]) -> Script:
    """Hosts spin while their GPUs spin in a collective, as NCCL's do; only the victim does not come."""

    def script(second: float) -> Changes:
        spinning = {"state": "R", "cpu_seconds": 10.0 + second, "voluntary_switches": 9}
        threads = [
            thread(rank, second, FROM, **(victim if rank == VICTIM else spinning)) for rank in ALL
        ]
        if second < FROM:
            return Changes(threads=threads)
        gpus = {rank: {**SILENT, **(gpu if rank == VICTIM else SPINS)} for rank in ALL}
        return Changes(threads=threads, gpus=gpus)

    return script


def mismatch(second_place: Stack | None) -> Script:
    def script(second: float) -> Changes:
        readings = [thread(rank, second, FROM) for rank in ALL]
        places = dict.fromkeys(ALL, BACKWARD) | ({VICTIM: second_place} if second_place else {})
        seen = stacks(second, places) if second_place and second >= FROM + 2 else []
        return Changes(threads=readings, stacks=seen)

    return script


LATE = [1011] * VICTIM + [1010] + [1011] * (GPUS - VICTIM - 1)


def with_pages(victim: Mapping[str, Any], ages: Mapping[str, Any], *, since: float = 0.0) -> Script:
    """All stand still from `since` on, the victim as reported; pages tell how old phases and steps are."""

    def script(second: float) -> Changes:
        threads = [
            thread(rank, second, since, **(victim if rank == VICTIM else {})) for rank in ALL
        ]
        probes = [
            msgspec.structs.replace(
                probe(rank, second, "backward", ages["phase"] + second),
                rank=rank,
                step=ages["step"],
                step_seconds=0.2,
                step_monotonic_seconds=BEGAN - ages["age"],
            )
            for rank in ALL
        ]
        return Changes(threads=threads, probes=probes)

    return script


LONG_AGO = {"phase": 65.0, "step": 40, "age": 66.0}
JUST_NOW = {"phase": 0.3, "step": 40, "age": 0.4}


BARRIER = frames("torch/distributed/distributed_c10d.py:barrier:5000", "train.py:main:120")
RENDEZVOUS = frames(
    "torch/distributed/rendezvous.py:_create_c10d_store:189",
    "torch/distributed/distributed_c10d.py:init_process_group:1800",
    "train.py:main:12",
)
SAVING = frames("torch/serialization.py:_save:900", "train.py:main:130")


def everybody(
    victim: Mapping[str, Any],
    stack: Stack | None = None,
    *,
    others: Stack | None = BACKWARD,
    ranks: int = GPUS,
    victims: frozenset[int] = frozenset({VICTIM}),
    since: float | None = FROM,
    dry: bool = True,
) -> Script:
    """As `stall`, with the others where ``others`` says and so many ranks; ``dry``: no bytes move."""
    quiet = {"read_bytes": 5000, "write_bytes": 5000, "cpu_seconds": 100.0}

    def script(second: float) -> Changes:
        there = range(ranks)
        threads = [
            thread(rank, second, since, **(victim if rank in victims else {})) for rank in there
        ]
        known = {rank: stack if rank in victims else others for rank in there}
        seen = {rank: each for rank, each in known.items() if each}
        return Changes(
            threads=threads,
            stacks=stacks(second, seen) if since is not None and second >= since + 2 else [],
            without=range(ranks, GPUS),
            processes=alone(ranks, quiet if dry and since is not None and second >= since else {}),
        )

    return script


def alone(ranks: int, more: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The variables of so many ranks, of which no more are anywhere, and what more is true of them."""
    changes: dict[int, Mapping[str, Any]] = {}
    for rank in range(ranks):
        environment = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
        }
        changes[rank_pid(rank)] = {"environment": environment, **more}
        changes[worker_pid(rank)] = {"environment": environment}
    return changes
