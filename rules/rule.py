"""The contract of a rule, and the bases that most rules share.

One rule is one file in the folder of its family. The docstring of the class has four parts,
Meaning, Impact, Diagnosis and Mitigation, from which ``gputop rules ID`` and the runbook are printed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from statistics import median
from typing import Any, ClassVar, TypeVar

import msgspec

from ..probes.model.frame import Frame
from ..probes.model.gpu_frames import GpuFrame, stale_after_seconds
from ..probes.model.host_frames import CgroupFrame, HostFrame
from ..probes.model.job_frames import JobFrame, RankFrame
from ..probes.model.process_frames import ProcessFrame
from .finding import Severity, Subject, Verdict
from .history import History
from .progress import is_unsettled
from .waits.ranks import names_of

_Made = TypeVar("_Made")
NETWORK = "network"
"""A path that leads to another host: over a socket or a mounted file system."""
COLLECTIVE = "collective"
"""A path that ends where somebody never came: no load of a host brings that about."""
WORK = frozenset(
    {"work", "lock", "file lock", "timer", "pipe", "socket", "file", "program", "itself"}
)
"""All that goes on more slowly on a host that lacks something."""


class Threshold(msgspec.Struct, frozen=True):
    """A number that a rule compares with; it can be changed in the settings."""

    value: float
    unit: str
    """As in `Evidence.unit`."""
    source: str
    """Who says so."""


class Scene:
    """What a rule may look at."""

    __slots__ = ("_made", "frame", "history")

    def __init__(self, frame: Frame, history: History) -> None:
        self.frame = frame
        self.history = history
        self._made: dict[Callable[[Scene], Any], Any] = {}

    def once(self, make: Callable[[Scene], _Made]) -> _Made:
        """What ``make`` finds in this scene, worked out for the first rule that asks for it."""
        if make not in self._made:
            self._made[make] = make(self)
        found: _Made = self._made[make]
        return found


class Rule(ABC):
    """A judge of one kind of fault. Stateless: the engine does the waiting."""

    id: ClassVar[str]
    """HST 1xx, HW 2xx, MEM 3xx, RUN 4xx, LNK 5xx, ENV 6xx, INP 7xx; never used again."""
    name: ClassVar[str]
    """The thing found, never the fix."""
    short: ClassVar[str] = ""
    """The same for a row of a table; empty: the name is short enough."""
    severity: ClassVar[Severity]
    """Of a plain case."""
    severities: ClassVar[tuple[Severity, ...]] = ()
    """All that evidence may make of it, the least first; empty: always ``severity``."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Fields of its subject without which it does not run."""
    needs_any: ClassVar[tuple[str, ...]] = ()
    """Fields of its subject of which at least one must be there."""
    thresholds: ClassVar[Mapping[str, Threshold]] = {}
    hold_seconds: ClassVar[float] = 30.0
    """How long it must hold before it counts."""
    look_seconds: ClassVar[float] = 0.0
    """How long a verdict stands before it looks again; 0: at each frame. A mean over 30 s does not change
    within three, and who does not look costs nothing. When GPUs or ranks come or go all look anew."""
    clear_seconds: ClassVar[float] = 10.0
    """How long it must be gone before it is cleared."""
    explains: ClassVar[tuple[str, ...]] = ()
    """Ids of the findings that are its symptoms; its own id: lesser ones of its kind in the job."""
    explains_waits_in: ClassVar[frozenset[str]] = frozenset()
    """Of what waits it explains those alone whose path goes through one of these: a network explains no
    pipe. Empty: all."""
    job_wide: ClassVar[bool] = False
    """Its cause may sit on another GPU or rank of the job; else it is sought on the same GPU."""
    about_waiting: ClassVar[bool] = False
    """It labels an end of the wait-for graph: of these one holds for a subject at a time."""
    costs: ClassVar[tuple[str, ...]] = ()
    """Entries of its subject's account (`account.entries`) that would go away with it: its price, where a
    verdict gives none (``lost_ratio``)."""
    costs_job: ClassVar[bool] = False
    """All GPUs of its job pay that, and not those of its subject alone."""
    unpriced: ClassVar[str] = ""
    """Why it cannot be priced, where that is so."""
    next_step: ClassVar[str]
    """What to do now, one sentence."""

    def __init__(self, overrides: Mapping[str, float] | None = None) -> None:
        defaults = {name: threshold.value for name, threshold in self.thresholds.items()}
        self.limit: dict[str, float] = {**defaults, **(overrides or {})}

    @abstractmethod
    def judge(self, scene: Scene) -> Iterable[Verdict]:
        """A verdict for each subject of its kind in the frame."""

    def _unmet(self, who: Subject, subject: Any) -> Verdict | None:
        """That it cannot run on this subject, and why; ``None`` where it can."""
        for field in self.needs:
            if getattr(subject, field) is None:
                return unavailable_field(who, subject, field)
        if self.needs_any and all(getattr(subject, field) is None for field in self.needs_any):
            return unavailable_field(who, subject, self.needs_any[0])
        return None


class GpuRule(Rule):
    """A rule about single GPUs. It does not run on one that is stale or lost."""

    settled_only: ClassVar[bool] = False
    """Keep silent while a rank of the GPU's job starts, compiles, saves or evaluates."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for gpu in scene.frame.gpus:
            yield self._unknown(gpu, scene.frame) or self.judge_gpu(gpu, scene)

    def subject_of(self, gpu: GpuFrame) -> Subject:
        """Who its verdicts on this GPU are about: the GPU itself, or a part of it."""
        return gpu_subject(gpu)

    @abstractmethod
    def judge_gpu(self, gpu: GpuFrame, scene: Scene) -> Verdict:
        """The verdict on this GPU; every field in ``needs`` is there."""

    def _unknown(self, gpu: GpuFrame, frame: Frame) -> Verdict | None:
        subject = self.subject_of(gpu)
        if gpu.status != "ok":
            return Verdict(subject=subject, holds=None, unknown_because=f"GPU is {gpu.status}")
        unmet = self._unmet(subject, gpu)
        why = unsettled(gpu, frame) if unmet is None and self.settled_only else ""
        return Verdict(subject=subject, holds=None, unknown_because=why) if why else unmet


class HostRule(Rule):
    """A rule about the node without its GPUs."""

    explains_waits_in = WORK

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        host = scene.frame.host
        subject = Subject(kind="host", id=scene.frame.node)
        if host is None:
            yield _unavailable(subject, "the host is not read")
            return
        old = reading_too_old(subject, host.age_seconds, scene.frame)
        yield old or self._unmet(subject, host) or self.judge_host(host, subject, scene)

    @abstractmethod
    def judge_host(self, host: HostFrame, subject: Subject, scene: Scene) -> Verdict:
        """The verdict; every field in ``needs`` is there."""


class ProcessRule(Rule):
    """A rule about the processes of jobs, and others that are on a GPU."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for process in scene.frame.processes:
            if process.job_id is None and not process.gpus:
                continue
            subject = process_subject(process)
            old = reading_too_old(subject, process.age_seconds, scene.frame)
            yield old or self._unmet(subject, process) or self.judge_process(process, scene)

    @abstractmethod
    def judge_process(self, process: ProcessFrame, scene: Scene) -> Verdict:
        """The verdict on this process; every field in ``needs`` is there."""


class CgroupRule(Rule):
    """A rule about the control groups of watched processes."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for group in scene.frame.cgroups:
            subject = cgroup_subject(group, scene.frame)
            age = scene.frame.monotonic_seconds - group.monotonic_seconds
            old = reading_too_old(subject, age, scene.frame)
            yield old or self._unmet(subject, group) or self.judge_cgroup(group, subject, scene)

    @abstractmethod
    def judge_cgroup(self, group: CgroupFrame, subject: Subject, scene: Scene) -> Verdict:
        """The verdict on this group; every field in ``needs`` is there."""


class JobRule(Rule):
    """A rule about whole jobs on this node."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for job in scene.frame.running:
            yield self.judge_job(job, Subject(kind="job", id=job.id, job=job.id), scene)

    @abstractmethod
    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        """The verdict on this job."""


def is_multi_node(job: JobFrame) -> bool:
    """It has ranks on other nodes too."""
    return job.world_size is not None and job.world_size > len(job.ranks) > 0


def gpu_subject(gpu: GpuFrame) -> Subject:
    """The subject that stands for a GPU."""
    return _gpu_subject(gpu.index, gpu.rank, gpu.job_id)


@lru_cache(maxsize=256)
def _gpu_subject(index: int, rank: int | None, job: str | None) -> Subject:
    # Asked for by every rule in every frame.
    return Subject(kind="gpu", id=str(index), rank=rank, gpu=index, job=job)


def process_subject(process: ProcessFrame) -> Subject:
    """The subject that stands for a process: pid and start time, as a pid alone comes back."""
    gpu = process.gpus[0] if process.gpus else None
    return _process_subject(
        process.pid, process.start_time_seconds, process.rank, gpu, process.job_id
    )


@lru_cache(maxsize=4096)
def _process_subject(
    pid: int, started: float, rank: int | None, gpu: int | None, job: str | None
) -> Subject:
    return Subject(kind="process", id=f"{pid}@{started:.2f}", rank=rank, gpu=gpu, job=job)


def cgroup_subject(group: CgroupFrame, frame: Frame) -> Subject:
    """The subject that stands for a control group, with its job where all of it is of one."""
    jobs = {process.job_id for process in frame.processes if process.cgroup == group.path} - {None}
    return Subject(kind="cgroup", id=group.path, job=jobs.pop() if len(jobs) == 1 else None)


def job_of(gpu: GpuFrame, frame: Frame) -> JobFrame | None:
    """The job on this GPU."""
    if gpu.job_id is None:
        return None
    return next((job for job in frame.running if job.id == gpu.job_id), None)


def rank_on(gpu: GpuFrame, frame: Frame) -> RankFrame | None:
    """The rank on this GPU."""
    job = job_of(gpu, frame)
    if job is None:
        return None
    return next((rank for rank in job.ranks if rank.gpu_index == gpu.index), None)


def phase_of(gpu: GpuFrame, frame: Frame) -> str | None:
    """The phase that the rank on this GPU is in, where a probe tells."""
    rank = rank_on(gpu, frame)
    return rank.phase if rank else None


def unsettled(gpu: GpuFrame, frame: Frame) -> str:
    """Why a low load says nothing yet about the job on this GPU, or an empty string.

    One rank that saves or compiles makes all the others wait, so any rank of the job counts.
    """
    job = job_of(gpu, frame)
    for rank in job.ranks if job else ():
        if is_unsettled(rank):
            return f"{names_of([rank])} of its job is in {rank.phase}"
    return ""


def peers_of(gpu: GpuFrame, frame: Frame) -> tuple[GpuFrame, ...]:
    """The other GPUs of its model that answer: those of its job, or all where it has none.

    One that is split by MIG has those for peers that are split in the same way.
    """
    cut = _cut(gpu)
    return tuple(
        other
        for other in frame.gpus
        if other.index != gpu.index
        and other.status == "ok"
        and other.name == gpu.name
        and _cut(other) == cut
        and (gpu.job_id is None or other.job_id == gpu.job_id)
    )


def _cut(gpu: GpuFrame) -> tuple[str, ...] | None:
    """The profiles of its instances; ``None``: it is whole."""
    if not gpu.mig_mode and not gpu.migs:
        return None
    return tuple(sorted(mig.name or "" for mig in gpu.migs))


def peer_median(gpu: GpuFrame, frame: Frame, signal: str) -> float | None:
    """Median of a signal over its peers; ``None`` with fewer than two that have it."""
    return median_of(getattr(peer, signal) for peer in peers_of(gpu, frame))


def median_of(values: Iterable[float | None]) -> float | None:
    """Median of those that are there; ``None`` with fewer than two, for one is no majority."""
    present = [value for value in values if value is not None]
    return median(present) if len(present) >= 2 else None


def reading_too_old(subject: Subject, age_seconds: float, frame: Frame) -> Verdict | None:
    """That nothing can be reported of a subject which was read too long ago."""
    if age_seconds > stale_after_seconds(frame.interval_seconds):
        return _unavailable(subject, f"last read {age_seconds:.0f} s ago")
    return None


def unavailable_field(who: Subject, subject: Any, field: str) -> Verdict:
    """That nothing can be reported for want of a field, with the reason that its reading gives."""
    return _unavailable(who, subject.missing.get(field, "not read yet"), field)


def _unavailable(subject: Subject, reason: str, field: str = "") -> Verdict:
    because = f"{field}: {reason}" if field else reason
    return Verdict(subject=subject, holds=None, unknown_because=because, unavailable=reason)
