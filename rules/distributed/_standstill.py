"""Who stands still in a job, and who keeps the others waiting.

Two witnesses speak here. One is progress: threads that neither run nor wake up. The other is place:
what the stack, or failing that the kernel's wait channel, says a rank waits for. A rank that waits for
the others and one that the others wait for look the same to the first, and not to the second. On a GPU
that only spins, the rank waits too, whatever its host thread is seen to do.

How long it has lasted, the page of a probe proves, whenever the looking began. Without one it is known
only for how long it has been seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.process_frames import ProcessFrame
from ..device._spinning import spin_seconds
from ..finding import Evidence, Subject
from ..history import History
from ..progress import is_overdue
from ..rule import Scene, Threshold

KEPT_WAITING = "kept waiting"
"""Signal of whoever waits for the rank that a finding is about."""
Stance = Literal["waits", "stopped", "works", "still", "busy", "moves", "unknown"]
"""``waits``: for other ranks. ``works``: at something that takes long by its nature. ``still`` and
``busy``: neither, and without progress. ``moves``: it makes progress."""

SHORTEST_SECONDS = 2.0
WAITING_PHASES = frozenset({"backward", "comm", "sync"})
LONG_PHASES = frozenset({"startup", "compile", "checkpoint", "eval"})
ERROR_SECONDS = Threshold(60.0, "seconds", "rule 56 of the catalogue: critical from 60 s")
HOLD_SECONDS = 5.0
"""With no base line, no progress for 5 s by two witnesses."""
_IDLE_CORES = 0.05


class Look(msgspec.Struct, frozen=True):
    """One rank: how it stands, and for how long."""

    rank: RankFrame
    stance: Stance
    seconds: float = 0.0
    spins: bool = False
    """Its GPU does nothing but spin."""
    proven: bool = False
    """Its probe's page tells for how long; else it has been seen for so long, and may have lasted longer."""


class Standstill(msgspec.Struct, frozen=True):
    """One job in which somebody stands still."""

    waiting: tuple[Look, ...]
    others: tuple[Look, ...]
    """Those that do not wait for anybody."""

    @property
    def seconds(self) -> float:
        """For how long somebody has waited for others."""
        return max((look.seconds for look in self.waiting), default=0.0)

    @property
    def kept_waiting(self) -> bool:
        """Whether anybody waits for one of the others, for longer than a step's jitter."""
        return bool(self.others) and self.seconds >= SHORTEST_SECONDS


def standstill(job: JobFrame, scene: Scene) -> Standstill:
    """How the ranks of a job stand to each other."""
    return scene.once(_standstills)[job.id]


def _standstills(scene: Scene) -> dict[str, Standstill]:
    return {job.id: _standstill(job, scene) for job in scene.frame.running}


def _standstill(job: JobFrame, scene: Scene) -> Standstill:
    if len(job.ranks) == 1 and (job.world_size or 1) == 1:  # its GPU spins for nobody
        looks = [_look_at_host(job.ranks[0], scene.frame.monotonic_seconds)]
    else:
        looks = [_look(rank, scene) for rank in job.ranks]
    looks = _unveiled(looks)
    return Standstill(
        waiting=tuple(look for look in looks if look.stance == "waits"),
        others=tuple(look for look in looks if look.stance not in ("waits", "unknown")),
    )


def rank_subject(job: JobFrame, rank: RankFrame) -> Subject:
    """The subject that stands for a rank."""
    return Subject(
        kind="rank",
        id=f"{job.id} {rank.pid}@{rank.start_time_seconds:.2f}",
        rank=rank.rank,
        gpu=rank.gpu_index,
        job=job.id,
    )


def evidence_of(look: Look, still: Standstill) -> tuple[Evidence, ...]:
    """What proves it: the rank itself, then those that wait."""
    rank, activity = look.rank, look.rank.activity
    origin = rank.phase_source or "measured"
    found = [
        Evidence(signal="phase", value=rank.phase, origin=origin),
        Evidence(signal="doing", value=rank.doing, origin=origin),
        Evidence(signal="place", value=rank.place, origin="sampled"),
        Evidence(signal="dumps", value=rank.phase_dumps, unit="samples", origin="sampled"),
        Evidence(signal="state", value=activity.state if activity else None),
        Evidence(signal="wait_channel", value=activity.wait_channel if activity else None),
        Evidence(
            signal="main_cpu_cores", value=activity.cpu_cores if activity else None, unit="cores"
        ),
    ]
    if still.waiting:
        names = names_of(each.rank for each in still.waiting)
        found.append(Evidence(signal=KEPT_WAITING, value=names))
        found.append(waiting_evidence(still.seconds, still.waiting))
    if any(each.spins for each in still.waiting):
        found.append(Evidence(signal="their GPUs", value="only spin, with flat power"))
    return tuple(each for each in found if each.value is not None)


def waiting_evidence(seconds: float, looks: Iterable[Look]) -> Evidence:
    """For how long they wait; where no page proves it, for how long they were seen to."""
    proven = any(look.proven and look.seconds == seconds for look in looks)
    signal = "waiting_seconds" if proven else "seen_waiting_seconds"
    return Evidence(signal=signal, value=seconds, unit="seconds")


def names_of(ranks: Iterable[RankFrame]) -> str:
    """For people: ``rank 3``, ``ranks 0, 1, 4``."""
    names = [str(rank.rank) if rank.rank is not None else f"pid {rank.pid}" for rank in ranks]
    return f"rank{'s' * (len(names) > 1)} {', '.join(names)}"


def workers_asleep(rank: RankFrame, scene: Scene, seconds: float) -> tuple[int, int]:
    """How many of its children have used no CPU for so long, and how many there are."""
    workers = [
        process
        for pid in rank.workers
        if (process := scene.frame.process(pid)) is not None and process.state != "Z"
    ]
    idle = [each for each in workers if _idle(each, scene.history, seconds)]
    return len(idle), len(workers)


def waits_for_loader(rank: RankFrame) -> bool:
    """Whether it waits for its DataLoader workers."""
    return rank.phase == "data" and "worker" in (rank.doing or "")


def _idle(process: ProcessFrame, history: History, seconds: float) -> bool:
    cores = history.process(process.pid, "cpu_cores").window(seconds)
    return bool(cores) and max(cores) <= _IDLE_CORES and process.state != "R"


def _look(rank: RankFrame, scene: Scene) -> Look:
    look = _look_at_host(rank, scene.frame.monotonic_seconds)
    gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
    if gpu is None or look.stance not in ("still", "busy", "moves"):
        return look
    # In NCCL its kernel spins, and the host spins with it or waits for the backward's thread.
    spun = spin_seconds(gpu, scene.history)
    return _lasting(Look(rank, "waits", spun, spins=True)) if spun else look


def _look_at_host(rank: RankFrame, now: float) -> Look:
    activity = rank.activity
    if activity is None:
        return Look(rank, "unknown")
    since = activity.still_since_seconds
    still = None if since is None else now - since
    if rank.stopped:
        return _lasting(Look(rank, "stopped", still or 0.0))
    if rank.phase in LONG_PHASES or rank.phase == "idle":
        return Look(rank, "works", rank.phase_age_seconds or 0.0)
    if still is not None:
        return _lasting(Look(rank, "waits" if _waits(rank) else "still", still))
    if rank.waits_for and _proven_seconds(rank):  # its host may spin in the collective
        return _lasting(Look(rank, "waits"))
    if activity.busy_since_seconds is not None:
        return Look(rank, "busy", now - activity.busy_since_seconds)
    return Look(rank, "moves")


def _lasting(look: Look) -> Look:
    """For as long as its page proves, where that is longer than it was seen."""
    proven = _proven_seconds(look.rank)
    return replace(look, seconds=proven, proven=True) if proven > look.seconds else look


def _proven_seconds(rank: RankFrame) -> float:
    """Since when it is in its phase, by its page, if its step is overdue; 0 where that proves nothing.

    Before the first step nothing is overdue, but to wait for others is to wait all the same.
    """
    if rank.phase_source != "measured" or rank.phase in LONG_PHASES or rank.phase == "idle":
        return 0.0
    first = rank.step is None and _waits(rank)
    return (rank.phase_age_seconds or 0.0) if first or is_overdue(rank) else 0.0


def _unveiled(looks: list[Look]) -> list[Look]:
    """Where the kernel does not show what ranks sleep for, what the others do tells it.

    While one runs without a pause or is stopped, those that sleep wait for it; where all of them sleep,
    they wait for each other, and for whom cannot be reported.
    """
    veiled = [_is_veiled(look) for look in looks]
    held_up = any(look.stance in ("busy", "stopped") for look in looks)
    if not held_up and not all(
        hidden or look.stance == "waits" for look, hidden in zip(looks, veiled, strict=True)
    ):
        return looks
    return [
        replace(look, stance="waits") if hidden else look
        for look, hidden in zip(looks, veiled, strict=True)
    ]


def _is_veiled(look: Look) -> bool:
    activity = look.rank.activity
    return (
        look.stance == "still"
        and look.rank.phase_source == "inferred"
        and activity is not None
        and activity.wait_channel is None
        and activity.state == "S"
    )


def _waits(rank: RankFrame) -> bool:
    """Whether it is where ranks wait for each other."""
    return rank.phase in WAITING_PHASES
