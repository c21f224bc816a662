"""Whether the threads of a job's own ranks crowd its cores: more run than there are, and none says how many may."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ..loader_workers import loader_workers
from ..rule import Scene
from ._cores import cores_available, cores_used, cores_used_by_others, mean, throttled

_POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_UNREADABLE = "the environment of its ranks is not readable"


class Crowd(msgspec.Struct, frozen=True):
    """Of one job."""

    threads: int
    """Of all its processes, also such as sleep."""
    available: float
    """Cores that it may use."""
    needed: float
    """One for each rank and loader worker."""
    used: float | None
    others: float | None
    """Cores of the node that others use."""
    delay: float | None
    """Share of the time in which the main thread of the mean rank is ready and has no core."""
    narrow: bool
    """A rank may use fewer cores than itself and its workers are."""
    throttled: bool
    most_threads: int
    """Of the rank that has most."""


def crowd_of(job: JobFrame, scene: Scene, throttled_ratio: float) -> Crowd | str:
    """Its threads and its cores; a text: why they are not known."""
    frame = scene.frame
    ranks = [frame.process(rank.pid) for rank in job.ranks]
    masks = [process.allowed_cpus if process else None for process in ranks]
    available = cores_available(job, frame, ranks, masks)
    if not job.ranks or not available:
        return "the cores of the job are not known"
    workers = [len(loader_workers(rank, frame)) for rank in job.ranks]
    pids = {*job.pids, *(rank.pid for rank in job.ranks)}
    processes = [frame.process(pid) for pid in pids]
    used = cores_used(job, scene)
    return Crowd(
        threads=sum((process.threads or 1) for process in processes if process is not None),
        available=available,
        needed=float(sum(count + 1 for count in workers)),
        used=used,
        others=cores_used_by_others(used, scene),
        delay=mean(process.run_delay_ratio for process in ranks if process is not None),
        narrow=any(
            mask is not None and mask < count + 1
            for mask, count in zip(masks, workers, strict=True)
        ),
        throttled=throttled(ranks, scene, throttled_ratio),
        most_threads=max((process.threads or 0) for process in ranks if process)
        if any(ranks)
        else 0,
    )


def pool_setting(job: JobFrame, frame: Frame, cores: float) -> tuple[str, str] | str | None:
    """The variable that lets each rank have more threads than its part of the cores, and its value.

    ``None``: they are told to have no more. A text: why that is not known.
    """
    environment = _environment(job, frame)
    if environment is None:
        return _UNREADABLE
    counts = {name: _count(environment.get(name)) for name in _POOLS}
    if all(count is None for count in counts.values()):
        return _POOLS[0], "not set"
    for name, count in counts.items():
        if count is not None and count * len(job.ranks) > 2.0 * cores:
            return name, str(count)
    return None


def _environment(job: JobFrame, frame: Frame) -> Mapping[str, str] | None:
    """Of its first rank whose own is known."""
    for rank in job.ranks:
        process = frame.process(rank.pid)
        if process is not None and process.environment:
            return process.environment
    return None


def _count(value: str | None) -> int | None:
    """``8``, or the outermost of ``8,4``."""
    first = (value or "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
