"""Jobs: which processes belong to one training run, and the part that each of them plays.

A job is what one launcher started (torchrun, mpirun…), or one Slurm step, or one process on its own.
Parts that meet at the same address under the same size belong together where no two of them claim the
same rank: that joins one torchrun per simulated node, and keeps two runs of the same user apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..model.gpu_readings import GpuReading
from ..model.job_frames import JobFrame, RankFrame
from ..model.probe_readings import ProbeReading
from ..model.process_readings import ProcessReading
from ..model.reading import Missing
from ..model.vocabulary import ProcessRole
from .command_line import is_spawned, job_name
from .parts import Part, Parts
from .rank_numbers import RankNumbers
from .roles import Roles
from .titles import title_stem

_KEEPERS = ("launcher", "wrapper", "shell")


class Member(msgspec.Struct, frozen=True):
    """What one process is within its job. ``rank_pid`` is set for workers alone."""

    role: ProcessRole = "other"
    rank: int | None = None
    local_rank: int | None = None
    rank_pid: int | None = None
    job_id: str | None = None


class Grouping(msgspec.Struct, frozen=True):
    """The jobs of one sample."""

    members: Mapping[int, Member]
    """By pid, for every process."""
    jobs: tuple[JobFrame, ...]
    """The oldest first."""
    local_pids: Mapping[int, int]
    """The driver's pid → the pid here, where a PID namespace lies between and one process fits."""


def group_jobs(
    processes: Sequence[ProcessReading],
    gpus: Sequence[GpuReading],
    probes: Sequence[ProbeReading] = (),
) -> Grouping:
    """Sort the processes into jobs. Of the probes only identities are used: phases come later."""
    return _Grouper(Roles(processes, gpus, probes)).grouping()


class _Grouper:
    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._parts = Parts(roles)
        self._members = {pid: Member() for pid in roles.by_pid}
        self._workers = self._find_workers()

    def grouping(self) -> Grouping:
        parts = self._parts.jobs()
        ids = self._ids(parts)
        numbers = [RankNumbers(self._roles, self._parts, part) for part in parts]
        ranks = list(map(self._enrol, parts, ids, numbers))
        self._enrol_others()
        return Grouping(
            members=self._members,
            jobs=tuple(map(self._job, parts, ids, numbers, ranks)),
            local_pids=self._roles.local_pids,
        )

    def _find_workers(self) -> dict[int, list[int]]:
        workers: dict[int, list[int]] = {pid: [] for pid in self._roles.ranks}
        for pid in self._members:
            rank = self._roles.rank_of(pid)
            if rank is not None and rank != pid:
                workers[rank].append(pid)
        return workers

    def _ids(self, parts: Sequence[Part]) -> list[str]:
        ids: dict[str, None] = {}
        for part in parts:
            job_id = self._id(part)
            # The elder keeps the plain name when a second run starts in the same Slurm step.
            ids[f"{job_id}-{part.ranks[0]}" if job_id in ids else job_id] = None
        return list(ids)

    def _id(self, part: Part) -> str:
        step = self._parts.step(part.ranks[0])
        if step is not None:
            return f"slurm-{step.job}.{step.step}" if step.step else f"slurm-{step.job}"
        ray_job = self._parts.ray_job(part.ranks[0])
        if ray_job is not None:
            return f"ray-{ray_job}"
        pid = part.ranks[0] if part.origin is None else part.origin
        return f"pid-{pid}-{self._roles.by_pid[pid].start_time_seconds:.2f}"

    def _enrol(self, part: Part, job_id: str, numbers: RankNumbers) -> tuple[RankFrame, ...]:
        ranks = tuple(sorted((self._rank(pid, numbers) for pid in part.ranks), key=_rank_order))
        for rank in ranks:
            self._members[rank.pid] = Member("rank", rank.rank, rank.local_rank, None, job_id)
            for pid in rank.workers:
                self._members[pid] = Member("worker", rank.rank, rank.local_rank, rank.pid, job_id)
            self._enrol_launchers(rank.pid, part.origin, job_id)
        return ranks

    def _enrol_launchers(self, rank: int, origin: int | None, job_id: str) -> None:
        roles = self._roles
        above = [pid for pid in roles.above(rank) if roles.rank_of(pid) is None]
        within = above.index(origin) + 1 if origin in above else 0
        for place, pid in enumerate(above):
            if roles.kind(pid) == "prompt":
                return  # whoever sits there starts other things too
            if place >= within and roles.kind(pid) not in _KEEPERS and pid not in roles.wrapping:
                return
            before = self._members[pid]
            shared = before.role == "launcher" and before.job_id != job_id
            self._members[pid] = Member("launcher", job_id=None if shared else job_id)

    def _enrol_others(self) -> None:
        """What else a launcher started: a logger, or a rank that has not shown itself yet."""
        for pid in self._roles.order:
            parent = self._roles.parent(pid)
            if parent is not None and self._members[pid].job_id is None:
                above = self._members[parent]
                if self._members[pid].role == "other" and above.role in ("launcher", "other"):
                    self._members[pid] = Member(job_id=above.job_id)

    def _job(
        self, part: Part, job_id: str, numbers: RankNumbers, ranks: tuple[RankFrame, ...]
    ) -> JobFrame:
        first = self._roles.by_pid[ranks[0].pid]
        step = self._parts.step(first.pid)
        return JobFrame(
            id=job_id,
            name=self._name(first.pid),
            user=first.user,
            world_size=numbers.world_size,
            slurm_job_id=step.job if step else None,
            slurm_step_id=step.step or None if step else None,
            container_id=first.container_id,
            container_kind=first.container_kind,
            pod_uid=first.pod_uid,
            pod_name=_pod_name(first),
            working_directory=first.working_directory,
            command=first.command,
            start_time_seconds=first.start_time_seconds,
            launcher_pid=part.origin,
            ranks=ranks,
            pids=tuple(
                sorted(pid for pid, member in self._members.items() if member.job_id == job_id)
            ),
        )

    def _name(self, pid: int) -> str:
        process = self._roles.by_pid[pid]
        if is_spawned(process.command) or self._roles.has_title_alone(pid):
            process = self._roles.by_pid[self._roles.whole(pid)]
        if process.titled and process.command:
            return title_stem(process.command[0])
        return job_name(process.command) or process.name or ""

    def _rank(self, pid: int, numbers: RankNumbers) -> RankFrame:
        process, name = self._roles.by_pid[pid], self._parts.names[pid]
        gpu, assigned_by, why_no_gpu = self._roles.gpu_of(pid)
        rank = numbers.of(pid)
        missing: Missing = {}
        if rank is None:
            missing["rank"] = numbers.why_unknown(pid)
        if gpu is None:
            missing["gpu_index"] = why_no_gpu
        return RankFrame(
            rank=rank,
            local_rank=name.local_rank if name else 0 if numbers.is_only(pid) else None,
            pid=pid,
            start_time_seconds=process.start_time_seconds,
            gpu_index=gpu.index if gpu else None,
            gpu_uuid=gpu.uuid if gpu else None,
            gpu_assigned_by=assigned_by,
            workers=tuple(sorted(self._workers[pid])),
            missing=missing,
        )


def _pod_name(process: ProcessReading) -> str | None:
    """Kubernetes names the host of a pod after it, unless the pod uses the node's network."""
    if process.pod_uid is None:
        return None
    return process.environment.get("POD_NAME") or process.environment.get("HOSTNAME")


def _rank_order(rank: RankFrame) -> tuple[bool, int, bool, int, int]:
    number, gpu = rank.rank, rank.gpu_index
    return number is None, number or 0, gpu is None, gpu or 0, rank.pid
