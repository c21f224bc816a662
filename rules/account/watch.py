"""Where the time of every rank, GPU and job went since the watch began: added up frame by frame."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import stale_after_seconds
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.reading import Key, key_of
from ..finding import Account, Finding, Subject
from ..rule import gpu_subject
from ..waits.ranks import rank_subject
from .late import late_rank
from .rank_time import RankTime
from .split import UNREAD, Load, idle_split, load_of
from .track import Part, Track, accounts_of

MOST_JOBS = 32
"""Ended jobs whose sums are kept."""
_GONE_SECONDS = 5.0
"""A rank that is not listed for so long has ended; before, it may only not have been read."""


class WatchAccounts:
    """Feed it every frame in order. It grows with what is on the node now, and not with time."""

    def __init__(self) -> None:
        self._ranks: dict[Key, RankTime] = {}
        self._gpus: dict[int, Track] = {}
        """Time without a rank, and of ranks that have ended."""
        self._jobs: dict[str, Track] = {}
        """Of ranks that have ended; the job that lost one last comes last."""
        self._began: dict[str, float] = {}
        """Job → Unix time at which it was first seen."""
        self._since: float | None = None
        self._last: float | None = None

    def __len__(self) -> int:
        """How many pieces are kept."""
        tracks = [*self._gpus.values(), *self._jobs.values()]
        return sum(map(len, tracks)) + sum(map(len, self._ranks.values())) + len(self._began)

    def add(self, frame: Frame, active: Sequence[Finding], stuck: Collection[int]) -> None:
        """Take up a frame.

        Args:
            frame: not older than the last.
            active: its findings that count.
            stuck: pids of ranks whose step is overdue, and not for others' sake.
        """
        seen, missed = self._passed(frame)
        top = max((gpu.sm_clock_hertz or 0.0 for gpu in frame.gpus), default=0.0)
        loads = {gpu.index: load_of(gpu, frame, top) for gpu in frame.gpus}
        crowd = _ranks_on(frame)
        for job in frame.running:
            if job.ranks:
                self._began.setdefault(job.id, frame.time_seconds)
            late, dead = late_rank(job, active), _stands_still(job, active)
            for rank in job.ranks:
                part = 1.0 / crowd[rank.gpu_index] if rank.gpu_index is not None else 0.0
                time = self._time_of(rank, job, frame)
                time.miss(missed, part)
                load = _load(rank, loads)
                time.add(
                    rank, frame.monotonic_seconds, late=late, load=load, seconds=seen, part=part
                )
                time.blame(rank, stuck=rank.pid in stuck, dead=dead)
        self._add_free_gpus(frame, crowd, loads, seen, missed)
        for key in [key for key, each in self._ranks.items() if _is_gone(each, frame)]:
            self._end(self._ranks.pop(key))
        self._forget_jobs(frame)

    def accounts(self, frame: Frame) -> Iterator[Account]:
        """All there are: of ranks, GPUs, jobs and the node, for the last minute and the whole watch.

        The last minute of a rank with a probe is told by that, at once.
        """
        now = frame.monotonic_seconds
        devices = {key: time.of_device(now) for key, time in self._ranks.items()}
        for job in frame.running:
            for rank in job.ranks:
                time = self._ranks.get(key_of(rank))
                if time is None:
                    continue
                if rank.gpu_index is not None and not rank.phases:
                    part = devices[key_of(rank)]
                else:
                    part = time.of_host(now, with_minute=not rank.phases_last_minute)
                who = rank_subject(job, rank)
                own = accounts_of(part, who, since=time.began, pid=rank.pid)
                at_once = bool(rank.phases_last_minute)
                yield from (each for each in own if each.window == "watch" or not at_once)
        yield from self._sums(frame, devices)

    def _sums(self, frame: Frame, devices: Mapping[Key, Part]) -> Iterator[Account]:
        """Of GPUs, jobs, and the whole node: its GPUs, or where it has none its ranks."""
        now = frame.monotonic_seconds
        everything: list[Part] = []
        for gpu in frame.gpus:
            parts = _settled(self._gpus.get(gpu.index), now)
            parts += [devices[key] for key, time in self._ranks.items() if time.gpu == gpu.index]
            part = Part.sum_of(parts)
            everything.append(part)
            yield from accounts_of(part, gpu_subject(gpu), since=self._since)
        for job in frame.running:
            parts = _settled(self._jobs.get(job.id), now)
            parts += [
                time.of_host(now) if time.gpu is None else devices[key]
                for key, time in self._ranks.items()
                if time.job == job.id
            ]
            everything += [] if frame.gpus else parts
            subject = Subject(kind="job", id=job.id, job=job.id)
            yield from accounts_of(Part.sum_of(parts), subject, since=self._began.get(job.id))
        node = Subject(kind="node", id=frame.node)
        yield from accounts_of(Part.sum_of(everything), node, since=self._since)

    def _passed(self, frame: Frame) -> tuple[float, float]:
        """Seconds since the frame before that count as seen, and those that do not.

        What was not read is not known: neither a pause of this monitor nor a clock that jumps is made up.
        """
        now = frame.monotonic_seconds
        passed = 0.0 if self._last is None else max(0.0, now - self._last)
        if self._since is None:
            self._since = frame.time_seconds
        self._last = now
        seen = min(passed, stale_after_seconds(frame.interval_seconds))
        return seen, passed - seen

    def _time_of(self, rank: RankFrame, job: JobFrame, frame: Frame) -> RankTime:
        key = key_of(rank)
        time = self._ranks.get(key)
        if time is not None and time.gpu != rank.gpu_index:
            self._end(time)
            time = None
        if time is None:
            time = self._ranks[key] = RankTime(job.id, rank.gpu_index, frame)
        return time

    def _add_free_gpus(
        self,
        frame: Frame,
        crowd: Mapping[int, int],
        loads: Mapping[int, Load],
        seen: float,
        missed: float,
    ) -> None:
        held = {each.gpu for each in self._ranks.values()}  # by ranks that were not read, too
        for gpu in frame.gpus:
            if gpu.index not in crowd and gpu.index not in held:
                track = self._gpus.setdefault(gpu.index, Track())
                spent = {key: share * seen for key, share in idle_split(loads[gpu.index]).items()}
                track.add(spent, frame.monotonic_seconds)
                track.unseen_seconds += missed

    def _end(self, time: RankTime) -> None:
        """Its time stays in the sums of its GPU and its job."""
        time.end()
        job = self._jobs.pop(time.job, None) or Track()
        job.take(time.paid(), time.seen)
        self._jobs[time.job] = job
        if time.gpu is not None:
            self._gpus.setdefault(time.gpu, Track()).take(time.device(), time.seen)
        if len(self._jobs) > MOST_JOBS:
            del self._jobs[next(iter(self._jobs))]

    def _forget_jobs(self, frame: Frame) -> None:
        """Of those that are over and have left no sums, also not their beginning."""
        if len(self._began) > 2 * MOST_JOBS:
            there = {job.id for job in frame.running} | {each.job for each in self._ranks.values()}
            there |= self._jobs.keys()
            self._began = {job: at for job, at in self._began.items() if job in there}


def _load(rank: RankFrame, loads: Mapping[int, Load]) -> Load:
    return UNREAD if rank.gpu_index is None else loads.get(rank.gpu_index, UNREAD)


def _is_gone(time: RankTime, frame: Frame) -> bool:
    return frame.monotonic_seconds - time.seen > _GONE_SECONDS + frame.interval_seconds


def _settled(track: Track | None, now: float) -> list[Part]:
    return [] if track is None else [Part.of(track, now)]


def _stands_still(job: JobFrame, active: Sequence[Finding]) -> set[int | None]:
    """Ranks that a finding says are stuck for good; with ``None``: all of the job."""
    return {
        each.subject.rank
        for each in active
        if each.severity == "error"
        and each.subject.job == job.id
        and each.subject.kind in ("job", "rank", "process")
        and each.price.basis == "rule"
        and (each.lost_ratio or 0.0) >= 1.0
    }


def _ranks_on(frame: Frame) -> dict[int, int]:
    found: dict[int, int] = {}
    for job in frame.running:
        for rank in job.ranks:
            if rank.gpu_index is not None:
                found[rank.gpu_index] = found.get(rank.gpu_index, 0) + 1
    return found
