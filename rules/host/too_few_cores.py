from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..loader_workers import loader_workers
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import WORK, Rule, Scene, Threshold
from ._cores import (
    WINDOW_SECONDS,
    cores_available,
    cores_used,
    cores_used_by_others,
    mean,
    other_users,
    own_pressure,
    throttled,
    users_text,
)

_TAKEN = "cores taken by others"


class _Cores(NamedTuple):
    """What one job has, needs and gets."""

    job: JobFrame
    ranks: tuple[ProcessFrame | None, ...]
    workers: tuple[int, ...]
    available: float
    needed: float
    narrow: tuple[int, ...]
    """Masks with fewer cores than that rank and its workers need."""
    used: float | None
    others: float | None
    """Cores of the node that others use."""
    delay: float | None
    own_pressure: float | None
    """Of its control group."""
    node_pressure: float | None

    @property
    def pressure(self) -> float | None:
        """The nearest that is known."""
        return self.node_pressure if self.own_pressure is None else self.own_pressure


class TooFewCores(Rule):
    """Too few cores for the ranks.

    Meaning:
        The job may use fewer CPU cores than its ranks and their loader workers need: one each, and
        a few for the system. Affinity masks, the cgroup's quota and the node's own size are looked
        at. A job that is on no GPU and leaves most of its cores unused has enough of them. Where
        ranks wait for a core and the job uses far less than it may, others take its cores: that is
        reported of the host, with their names, and the job is not at fault.
    Impact:
        Ranks and workers take turns on the cores. Launches come late and batches too, unevenly
        over the ranks, and the GPUs wait.
    Diagnosis:
        Compare the cores available with those needed. A small mask mostly comes from the scheduler
        (--cpus-per-task of Slurm, a pod's limit) or from numactl or taskset in the launcher. It is
        information as long as no rank waits for a core, and a warning when they do.
    Mitigation:
        Ask the scheduler for more cores for each GPU, or run fewer workers. The cores counted may
        be hyper-threads: then half as many are real. Where others take them: stop or move those,
        or give the job cores of its own.
    """

    id = "HST111"
    name = "too few cores"
    severity = "info"
    look_seconds = 2.0
    unpriced = NOT_KNOWN_HOW_MUCH
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
        "own_ratio": Threshold(
            0.75,
            "ratio",
            "ours; a job that waits for a core and uses less of those it may is kept off",
        ),
        "others_ratio": Threshold(0.25, "ratio", "ours; of the job's cores, that others use"),
        "full_ratio": Threshold(0.9, "ratio", "ours; of the node's cores: none is to spare"),
        "slowed_ratio": Threshold(
            0.25, "ratio", "ours; a rank that waits for a core for so long has steps a third longer"
        ),
        "throttled_ratio": Threshold(
            0.05, "ratio", "as HST110: then its own quota keeps it waiting"
        ),
    }
    explains_waits_in = WORK
    explains = ("HW210", "HW211", "INP701", "INP703", "RUN436")
    next_step = "Give the job more cores (Slurm --cpus-per-task, pod limit) or run fewer workers."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        taken: list[_Cores] = []
        for job in scene.frame.running:
            subject = Subject(kind="job", id=job.id, job=job.id)
            if not job.ranks:
                yield Verdict(subject=subject, holds=False)
                continue
            cores = self._cores(job, scene)
            if cores is None:
                yield Verdict(
                    subject=subject, holds=None, unavailable="the cores of the job are not known"
                )
            elif self._taken(cores, scene):
                taken.append(cores)
                yield Verdict(subject=subject, holds=False)
            else:
                yield self._judge_job(cores, subject, scene)
        yield self._judge_host(taken, scene)

    def _cores(self, job: JobFrame, scene: Scene) -> _Cores | None:
        frame = scene.frame
        workers = tuple(len(loader_workers(rank, frame)) for rank in job.ranks)
        ranks = tuple(frame.process(rank.pid) for rank in job.ranks)
        masks = [process.allowed_cpus if process else None for process in ranks]
        available = cores_available(job, frame, ranks, masks)
        if available is None:
            return None
        used = cores_used(job, scene)
        return _Cores(
            job=job,
            ranks=ranks,
            workers=workers,
            available=available,
            needed=sum(count + 1 for count in workers) + self.limit["system_cores"],
            narrow=tuple(
                mask
                for mask, count in zip(masks, workers, strict=True)
                if mask is not None and mask < count + 1
            ),
            used=used,
            others=cores_used_by_others(used, scene),
            delay=mean(process.run_delay_ratio for process in ranks if process is not None),
            own_pressure=own_pressure(ranks, scene),
            node_pressure=scene.history.host("pressure_cpu_ratio").mean(WINDOW_SECONDS),
        )

    def _taken(self, cores: _Cores, scene: Scene) -> bool:
        """It waits for cores, leaves those it may use to others, and no quota of its own stops it."""
        if (cores.delay or 0.0) <= self.limit["run_delay_ratio"] or cores.used is None:
            return False
        if cores.used >= self.limit["own_ratio"] * cores.available:
            return False
        if not (self._full(scene) or _masked(cores, scene)):
            return (
                False  # there are idle cores that it may run on: it is not others that keep it off
            )
        least = self.limit["others_ratio"] * cores.available
        if cores.others is None or cores.others < least:
            return False
        return not throttled(cores.ranks, scene, self.limit["throttled_ratio"])

    def _full(self, scene: Scene) -> bool:
        busy = scene.history.host("cpu_ratio").mean(WINDOW_SECONDS)
        return busy is not None and busy >= self.limit["full_ratio"]

    def _judge_job(self, cores: _Cores, subject: Subject, scene: Scene) -> Verdict:
        if cores.available >= cores.needed and not cores.narrow:
            return Verdict(subject=subject, holds=False)
        on_gpu = any(rank.gpu_index is not None for rank in cores.job.ranks)
        used = None if on_gpu else cores.used
        kept = (cores.delay or 0.0) > self.limit["run_delay_ratio"]
        # Where others fill the node, its pressure is no witness of this job's need.
        others = cores.others is not None and cores.others > (cores.used or 0.0)
        blurred = cores.own_pressure is None and others and self._full(scene)
        pressed = (cores.pressure or 0.0) > self.limit["pressure_cpu_ratio"] and not blurred
        # On no GPU, with cores unused: a shell script that sleeps needs none.
        if not kept and used is not None and used < self.limit["idle_ratio"] * cores.available:
            return Verdict(subject=subject, holds=False)
        waits = kept or pressed
        return Verdict(
            subject=subject,
            holds=True,
            severity="warning" if waits else "info",
            confidence=0.9 if waits else 0.5,
            evidence=(
                compared(
                    "available_cpu_cores",
                    cores.available,
                    cores.needed,
                    "cores",
                    label="cores available",
                ),
                Evidence(signal="ranks", value=float(len(cores.ranks)), unit="processes"),
                Evidence(
                    signal="loader_workers", value=float(sum(cores.workers)), unit="processes"
                ),
                Evidence(signal="allowed_cpus", value=_narrowest(cores), unit="count"),
                *(
                    (
                        Evidence(
                            signal="used_cpu_cores", label="cores used", value=used, unit="cores"
                        ),
                    )
                    if used
                    else ()
                ),
                *self._waits(cores),
            ),
        )

    def _judge_host(self, taken: list[_Cores], scene: Scene) -> Verdict:
        subject = Subject(kind="host", id=scene.frame.node)
        if not taken:
            return Verdict(subject=subject, holds=False)
        worst = max(taken, key=lambda cores: cores.delay or 0.0)
        users = other_users(worst.job, scene.frame)
        slowed = (worst.delay or 0.0) >= self.limit["slowed_ratio"]
        severity: Severity = "warning" if slowed else "info"
        return Verdict(
            subject=subject,
            holds=True,
            name=_TAKEN,
            severity=severity,
            confidence=0.9 if users else 0.7,
            evidence=(
                Evidence(signal="taken_by", label="who takes them", value=users_text(users)),
                Evidence(
                    signal="others_cpu_cores",
                    label="cores used by others",
                    value=worst.others,
                    unit="cores",
                ),
                Evidence(
                    signal="job_cpu_cores",
                    label="cores used by the job",
                    value=worst.used,
                    unit="cores",
                ),
                Evidence(signal="job", value=worst.job.name),
                *self._waits(worst),
            ),
            next_step=f"Stop or move what takes the cores ({users_text(users)}), or give the job "
            "cores of its own (cpuset, taskset).",
        )

    def _waits(self, cores: _Cores) -> tuple[Evidence, ...]:
        pressure, own = self.limit["pressure_cpu_ratio"], cores.own_pressure
        return (
            compared("run_delay_ratio", cores.delay, self.limit["run_delay_ratio"], "ratio"),
            compared(
                "pressure_cpu_ratio" if own is None else "cgroup_pressure_cpu_ratio",
                cores.pressure,
                pressure,
                "ratio",
                label="" if own is None else "CPU pressure of its group",
                mean_seconds=WINDOW_SECONDS,
            ),
        )


def _masked(cores: _Cores, scene: Scene) -> bool:
    """Whether a mask keeps a rank off cores of the node that may be idle."""
    host = scene.frame.host
    node = host.cpus if host else None
    masks = [process.allowed_cpus for process in cores.ranks if process is not None]
    return node is not None and any(mask is not None and mask < node for mask in masks)


def _narrowest(cores: _Cores) -> float | None:
    first = cores.ranks[0]
    mask = first.allowed_cpus if first else None
    return None if mask is None else float(min(cores.narrow, default=mask))
