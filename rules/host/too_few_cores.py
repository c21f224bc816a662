from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..loader_workers import loader_workers
from ..rule import JobRule, Scene, Threshold

_WINDOW_SECONDS = 30.0


class TooFewCores(JobRule):
    """Too few cores for the ranks.

    Meaning:
        The job may use fewer CPU cores than its ranks and their loader workers need: one each, and
        a few for the system. Affinity masks, the cgroup's quota and the node's own size are looked
        at. A job that is on no GPU and leaves most of its cores unused has enough of them.
    Impact:
        Ranks and workers take turns on the cores. Launches come late and batches too, unevenly
        over the ranks, and the GPUs wait.
    Diagnosis:
        Compare the cores available with those needed. A small mask mostly comes from the scheduler
        (--cpus-per-task of Slurm, a pod's limit) or from numactl or taskset in the launcher. It is
        information as long as no rank waits for a core, and a warning when they do.
    Mitigation:
        Ask the scheduler for more cores for each GPU, or run fewer workers. The cores counted may
        be hyper-threads: then half as many are real.
    """

    id = "HST111"
    name = "too few cores"
    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "system_cores": Threshold(4.0, "cores", "ml-engineering: ranks x (workers + 1) + 4"),
        "idle_ratio": Threshold(
            0.5, "ratio", "ours; a job off the GPU that uses less of its cores has enough of them"
        ),
        "run_delay_ratio": Threshold(0.05, "ratio", "ours; witness that ranks wait for a core"),
        "pressure_cpu_ratio": Threshold(
            0.20, "ratio", "ours; the same, for its control group or else the node"
        ),
    }
    explains = ("HST110", "HW210", "HW211")
    next_step = "Give the job more cores (Slurm --cpus-per-task, pod limit) or run fewer workers."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not job.ranks:
            return Verdict(subject=subject, holds=False)
        frame = scene.frame
        workers = [len(loader_workers(rank, frame)) for rank in job.ranks]
        ranks = [frame.process(rank.pid) for rank in job.ranks]
        masks = [process.allowed_cpus if process else None for process in ranks]
        available = _available(job, frame, ranks, masks)
        if available is None:
            return Verdict(
                subject=subject, holds=None, unavailable="the cores of the job are not known"
            )
        needed = sum(count + 1 for count in workers) + self.limit["system_cores"]
        narrow = [
            mask
            for mask, count in zip(masks, workers, strict=True)
            if mask is not None and mask < count + 1
        ]
        if available >= needed and not narrow:
            return Verdict(subject=subject, holds=False)
        delay = _mean(process.run_delay_ratio for process in ranks if process is not None)
        on_gpu = any(rank.gpu_index is not None for rank in job.ranks)
        used = None if on_gpu else _used(job, scene)
        own = _pressure(ranks, scene)
        node = scene.history.host("pressure_cpu_ratio").mean(_WINDOW_SECONDS)
        pressure = node if own is None else own
        kept = (delay or 0.0) > self.limit["run_delay_ratio"]
        waits = kept or (pressure or 0.0) > self.limit["pressure_cpu_ratio"]
        # On no GPU, with cores unused: a shell script that sleeps needs none.
        if not kept and used is not None and used < self.limit["idle_ratio"] * available:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            severity="warning" if waits else "info",
            confidence=0.9 if waits else 0.5,
            evidence=(
                compared("cores available", available, needed, "cores"),
                Evidence(signal="ranks", value=float(len(job.ranks)), unit="processes"),
                Evidence(signal="loader workers", value=float(sum(workers)), unit="processes"),
                Evidence(
                    signal="allowed_cpus",
                    value=None if masks[0] is None else float(min(narrow, default=masks[0])),
                    unit="cores",
                ),
                *((Evidence(signal="cores used", value=used, unit="cores"),) if used else ()),
                compared("run_delay_ratio", delay, self.limit["run_delay_ratio"], "ratio"),
                compared(
                    "pressure_cpu_ratio" if own is None else "CPU pressure of its group",
                    pressure,
                    self.limit["pressure_cpu_ratio"],
                    "ratio",
                    mean_seconds=_WINDOW_SECONDS,
                ),
            ),
        )


def _pressure(ranks: Sequence[ProcessFrame | None], scene: Scene) -> float | None:
    """In the group of the ranks that waits most: others on the node neither hide it nor add to it."""
    paths = {process.cgroup for process in ranks if process is not None and process.cgroup}
    known = [
        waited
        for path in paths
        if (waited := scene.history.cgroup(path, "pressure_cpu_ratio").mean(_WINDOW_SECONDS))
        is not None
    ]
    return max(known, default=None)


def _used(job: JobFrame, scene: Scene) -> float | None:
    """Cores that all its processes have kept busy; ``None`` where that of none is known."""
    pids = {*job.pids, *(rank.pid for rank in job.ranks)}
    known = [
        cores
        for pid in pids
        if (cores := scene.history.process(pid, "cpu_cores").mean(_WINDOW_SECONDS)) is not None
    ]
    return sum(known) if known else None


def _available(
    job: JobFrame,
    frame: Frame,
    ranks: Sequence[ProcessFrame | None],
    masks: Sequence[int | None],
) -> float | None:
    """Cores for the whole job: the least of what the node, the masks and the quotas allow."""
    node = frame.host.cpus if frame.host else None
    bounds = (node, _masks(job, frame, masks), _quotas(ranks, frame))
    return min((float(bound) for bound in bounds if bound is not None), default=None)


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


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if present else None
