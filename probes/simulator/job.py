"""The training job on the node: a launcher, eight ranks, and the loader workers of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ..model.process_readings import LimitsReading, ProcessReading
from .activity import Activity
from .gpus import GIB
from .rhythm import RANKS
from .timeline import MICROSECONDS, UNIT, Integrals, Spell

WORKERS = 4
USER = "mara"
LAUNCHER_PID = 51802
CONTAINER_ID = "8f3c1d9a5be24706b1f0c6a9e2d47b35a1f6e8c09d7b4a52e3c8f1069ab7d4e2"

_PYTHON = "/opt/venv/bin/python"
_SCRIPT = ("train.py", "--config", "configs/llm_7b.yaml")
_RANK_RSS = int(9.4 * GIB)
_WORKER_RSS = int(2.1 * GIB)
_CPUS = 96

_STATE_LASTS = 250_000
"""Microseconds for which a worker stays in one state."""
_MIX = 2654435761


class Placement(NamedTuple):
    """Where the job runs, for all its processes."""

    began_seconds: float
    """Since boot."""
    cgroup: str
    container_id: str | None


def rank_pid(rank: int) -> int:
    """Of the rank's process."""
    return 51830 + rank


def worker_pids(rank: int) -> tuple[int, ...]:
    """Of the rank's loader workers."""
    return tuple(52110 + WORKERS * rank + number for number in range(WORKERS))


def is_worker(process: ProcessReading) -> bool:
    """It is a loader worker of some rank."""
    return process.name == "pt_data_worker"


def cgroup_path(container_id: str | None) -> str:
    """Of all the job's processes."""
    if container_id:
        return f"/system.slice/docker-{container_id}.scope"
    return "/user.slice/user-1017.slice/session-42.scope"


class Job:
    """All processes of the job, at any moment."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        launcher: dict[str, Any] = self._common(LAUNCHER_PID, 51790, -8.0) | {
            "name": "torchrun",
            "command": (_PYTHON, "/opt/venv/bin/torchrun", "--nproc-per-node", "8", *_SCRIPT),
            "threads": 26,
            "rss_bytes": int(0.41 * GIB),
            "state": "S",
            "wait_channel": "hrtimer_nanosleep",
            "read_bytes": 84_000_000,
            "write_bytes": 1_200_000,
            "major_faults": 212,
        }
        # Replacing what moves in a ready reading is four times as fast as making one.
        self._launcher = _still(launcher)
        self._ranks = [self._rank(rank) for rank in range(RANKS)]
        self._workers = [self._worker(rank) for rank in range(RANKS)]

    def start_time(self, rank: int) -> float:
        """Of the rank's process, in seconds since boot."""
        return self._placement.began_seconds - 5.0 + 0.03 * rank

    def launcher(self, moment: int, monotonic_seconds: float) -> ProcessReading:
        """The process that started the ranks."""
        running = moment / MICROSECONDS + 1e6
        return msgspec.structs.replace(
            self._launcher,
            monotonic_seconds=monotonic_seconds,
            cpu_seconds=0.002 * running,
            run_delay_seconds=1e-5 * running,
            voluntary_switches=int(11 * running),
            involuntary_switches=int(0.1 * running),
        )

    def rank(
        self, rank: int, now: Integrals, spell: Spell, monotonic_seconds: float
    ) -> ProcessReading:
        """The training process."""
        reached = Activity._make(now)
        waits = spell.phase == "data"
        used = reached.rank_cpu / UNIT
        return msgspec.structs.replace(
            self._ranks[rank],
            monotonic_seconds=monotonic_seconds,
            state="S" if waits else "R",
            wait_channel="futex_wait_queue" if waits else "0",
            cpu_seconds=used,
            run_delay_seconds=0.002 * used,
            voluntary_switches=int(180 * used),
            involuntary_switches=int(4 * used),
        )

    def limits(self, rank: int, monotonic_seconds: float) -> LimitsReading:
        """What the training process may have only so much of."""
        return LimitsReading(
            monotonic_seconds=monotonic_seconds,
            pid=rank_pid(rank),
            start_time_seconds=self._ranks[rank].start_time_seconds,
            open_files=212 + 3 * rank,
            open_files_limit=1 << 20,
            shm_total_bytes=504 * GIB,
            shm_free_bytes=497 * GIB,
        )

    def workers(
        self, rank: int, now: Integrals, busy_cores: float, moment: int, monotonic_seconds: float
    ) -> list[ProcessReading]:
        """The rank's loader workers. Busy ones are on a core, the others wait to be asked."""
        reached = Activity._make(now)
        used, read = reached.worker_cpu / UNIT, reached.read // UNIT
        look = moment // _STATE_LASTS
        readings: list[ProcessReading] = []
        for number, worker in enumerate(self._workers[rank]):
            more = 1.0 + 0.04 * (number - 1.5)
            busy = chance(worker.pid, look) < busy_cores
            readings.append(
                msgspec.structs.replace(
                    worker,
                    monotonic_seconds=monotonic_seconds,
                    state="R" if busy else "S",
                    wait_channel="0" if busy else "poll_schedule_timeout",
                    cpu_seconds=used * more,
                    run_delay_seconds=0.004 * used,
                    read_bytes=int(read * more),
                    voluntary_switches=int(420 * used * more),
                    involuntary_switches=int(9 * used),
                )
            )
        return readings

    def _rank(self, rank: int) -> ProcessReading:
        own: dict[str, Any] = self._common(rank_pid(rank), LAUNCHER_PID, -5.0 + 0.03 * rank) | {
            "name": "python",
            "command": (_PYTHON, "-u", *_SCRIPT),
            "threads": 148,
            "rss_bytes": _RANK_RSS + rank * 7_340_032,
            "read_bytes": 1_900_000_000,
            "write_bytes": 240_000_000,
            "major_faults": 1840,
            "environment": _environment(rank),
        }
        return _still(own)

    def _worker(self, rank: int) -> list[ProcessReading]:
        own: list[dict[str, Any]] = [
            self._common(pid, rank_pid(rank), 21.0 + 0.2 * number)
            | {
                "name": "pt_data_worker",
                "command": (_PYTHON, "-u", *_SCRIPT),
                "threads": 3,
                "rss_bytes": _WORKER_RSS + number * 3_145_728,
                "write_bytes": 0,
                "major_faults": 95,
                "environment_inherited": True,
            }
            for number, pid in enumerate(worker_pids(rank))
        ]
        return [_still(fields) for fields in own]

    def _common(self, pid: int, parent: int, later: float) -> dict[str, Any]:
        place = self._placement
        return {
            "pid": pid,
            "parent_pid": parent,
            "start_time_seconds": place.began_seconds + later,
            "namespace_pids": (pid, pid - LAUNCHER_PID + 7) if place.container_id else (pid,),
            "user": USER,
            "allowed_cpus": _CPUS,
            "cgroup": place.cgroup,
            "container_id": place.container_id,
            "missing": {} if place.container_id else {"container_id": "not in a container"},
        }


def chance(pid: int, look: int) -> float:
    """From 0 to 1, different for each process and look, and the same each time it is asked."""
    mixed = (pid * _MIX + look * 40503) & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 12) * 0x297A2D39 & 0xFFFFFFFF
    return (mixed ^ mixed >> 15) / 2**32


def _still(fields: dict[str, Any]) -> ProcessReading:
    """A reading in which nothing moves yet."""
    return ProcessReading(monotonic_seconds=0.0, **fields)


def _environment(rank: int) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(RANKS),
        "LOCAL_WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "node17",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "none",
        "OMP_NUM_THREADS": "8",
        "NCCL_DEBUG": "WARN",
        "CUDA_MODULE_LOADING": "LAZY",
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(RANKS))),
    }
