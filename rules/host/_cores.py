"""How many cores a job may use, and who uses those that it does not get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from ...probes.model.frame import Frame
from ...probes.model.host_readings import CpuUser
from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ..rule import Scene

WINDOW_SECONDS = 30.0
MOST_NAMED = 3
_LEAST_CORES = 0.05


def cores_used(job: JobFrame, scene: Scene) -> float | None:
    """Cores that all its processes have kept busy; ``None`` where that of none is known."""
    pids = {*job.pids, *(rank.pid for rank in job.ranks)}
    known = [
        cores
        for pid in pids
        if (cores := scene.history.process(pid, "cpu_cores").mean(WINDOW_SECONDS)) is not None
    ]
    return sum(known) if known else None


def own_pressure(ranks: Sequence[ProcessFrame | None], scene: Scene) -> float | None:
    """In the group of the ranks that waits most: others on the node neither hide it nor add to it."""
    paths = {process.cgroup for process in ranks if process is not None and process.cgroup}
    known = [
        waited
        for path in paths
        if (waited := scene.history.cgroup(path, "pressure_cpu_ratio").mean(WINDOW_SECONDS))
        is not None
    ]
    return max(known, default=None)


def cores_used_by_others(used: float | None, scene: Scene) -> float | None:
    """Cores of the node that others have kept busy; ``None`` where it is not known."""
    host = scene.frame.host
    busy = scene.history.host("cpu_ratio").mean(WINDOW_SECONDS)
    if host is None or host.cpus is None or busy is None or used is None:
        return None
    return max(0.0, busy * host.cpus - used)


def cores_available(
    job: JobFrame,
    frame: Frame,
    ranks: Sequence[ProcessFrame | None],
    masks: Sequence[int | None],
) -> float | None:
    """Cores for the whole job: the least of what the node, the masks and the quotas allow."""
    node = frame.host.cpus if frame.host else None
    bounds = (node, _masks(job, frame, masks), _quotas(ranks, frame))
    return min((float(bound) for bound in bounds if bound is not None), default=None)


def throttled(ranks: Sequence[ProcessFrame | None], scene: Scene, limit: float) -> bool:
    """Whether a quota stops one of them again and again: then nobody else takes its cores."""
    paths = {process.cgroup for process in ranks if process is not None and process.cgroup}
    ratios = (scene.history.cgroup(path, "throttled_ratio").mean(WINDOW_SECONDS) for path in paths)
    return any(ratio is not None and ratio > limit for ratio in ratios)


def other_users(job: JobFrame, frame: Frame) -> tuple[CpuUser, ...]:
    """The processes outside of the job that use most, as far as they were looked for."""
    own = {*job.pids, *(rank.pid for rank in job.ranks)}
    users = frame.host.cpu_users if frame.host else None
    if users is None:
        users = _users_watched(frame)
    return tuple(user for user in users if user.pid not in own)


def _users_watched(frame: Frame) -> tuple[CpuUser, ...]:
    """Those of them that are watched for another reason."""
    found = [
        CpuUser(
            pid=process.pid,
            start_time_seconds=process.start_time_seconds,
            name=process.name or "?",
            cores=process.cpu_cores,
        )
        for process in frame.processes
        if process.cpu_cores is not None and process.cpu_cores >= _LEAST_CORES
    ]
    return tuple(sorted(found, key=lambda user: -user.cores))


def users_text(users: Sequence[CpuUser]) -> str:
    """``pid 4711 stress 1.0 cores, pid 4712 stress 0.9 cores and 6 more``."""
    if not users:
        return "other processes"
    named = [f"pid {user.pid} {user.name} {user.cores:.1f} cores" for user in users[:MOST_NAMED]]
    more = len(users) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


def _masks(job: JobFrame, frame: Frame, masks: Sequence[int | None]) -> float | None:
    """Cores that the affinity masks give to all ranks together.

    Only their sizes are known. A mask as wide as the launcher's was inherited, so the ranks share
    it; narrower ones, or those of ranks without a launcher, are taken to lie side by side.
    """
    known = [mask for mask in masks if mask is not None]
    if not known or len(known) < len(masks):
        return None
    launcher = frame.process(job.launcher_pid) if job.launcher_pid is not None else None
    shared = launcher.allowed_cpus if launcher is not None else None
    if shared is not None and shared <= max(known):
        return float(shared)
    return float(sum(known))


def _quotas(ranks: Sequence[ProcessFrame | None], frame: Frame) -> float | None:
    """Sum of the quotas of the groups that hold the ranks; ``None`` if one of them has none."""
    paths = {process.cgroup for process in ranks if process is not None}
    quotas = [group.cpu_quota_cores for group in frame.cgroups if group.path in paths]
    limited = [quota for quota in quotas if quota is not None]
    return sum(limited) if limited and len(limited) == len(paths) else None
