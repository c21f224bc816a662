from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame, gone_rank
from ...probes.model.process_key import Key, key_of
from ...probes.model.rank_activity import GoneRank
from ..finding import Evidence, Subject, Verdict
from ..rule import Rule, Scene
from ._standstill import KEPT_WAITING, names_of

KEPT_SECONDS = 300.0
TOGETHER_SECONDS = 2.0
"""Ranks are looked at once a second."""


class RankGone(Rule):
    """Rank gone.

    Meaning:
        A rank has ended by a signal or with an error code, or it is not there any more and has left
        its probe's page, which it takes away when it ends well: so it is found too when it died before
        anybody looked. Of a job whose ranks all ended, the first one is named; launchers end the
        others when they notice.
    Impact:
        The job ends, or waits for that rank until the time limit of its process group.
    Diagnosis:
        SIGKILL without anybody's doing is the kernel's OOM killer (dmesg, memory.events of the
        control group) or Slurm's limits. SIGSEGV and SIGABRT are crashes: see the end of the rank's
        log, and Xid lines in the kernel log. A code of 1 is a Python exception.
    Mitigation:
        Mend the cause that the log names, and start again from the last checkpoint.
    """

    id = "RUN424"
    name = "rank gone"
    severity = "error"
    hold_seconds = 0.0
    clear_seconds = 0.0
    explains = ("HW210", "HW211", "RUN404", "RUN405", "RUN406")
    job_wide = True
    next_step = "Read the end of that rank's log, and dmesg for the OOM killer and Xid lines."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        frame = scene.frame
        failed = _failed(frame)
        fallen = [*failed, *_left(frame, {gone.job_id for gone in failed})]
        for job in dict.fromkeys(gone.job_id for gone in fallen):
            gone = _first([each for each in fallen if each.job_id == job])
            age = frame.monotonic_seconds - gone.monotonic_seconds
            if age < KEPT_SECONDS or _is_missed(gone, frame):
                yield self._verdict(gone, frame)

    def _verdict(self, gone: GoneRank, frame: Frame) -> Verdict:
        others = sum(
            1 for each in frame.gone if each.job_id == gone.job_id and each.pid != gone.pid
        )
        waiting = _waiting_for(gone, frame)
        xid = next((xid.code for xid in reversed(frame.xids) if xid.pid == gone.pid), None)
        evidence = (
            Evidence(signal="ended by", value=how(gone)),
            Evidence(signal="killed by", value=gone.killer or None),
            Evidence(signal="xid", value=xid),
            Evidence(signal="others that ended after it", value=others or None, unit="processes"),
            Evidence(signal=KEPT_WAITING, value=names_of(waiting) if waiting else None),
        )
        return Verdict(
            subject=Subject(
                kind="rank",
                id=f"{gone.job_id} {gone.pid}@{gone.start_time_seconds:.2f}",
                rank=gone.rank,
                gpu=gone.gpu_index,
                job=gone.job_id,
            ),
            holds=True,
            evidence=tuple(each for each in evidence if each.value is not None),
            since_monotonic_seconds=gone.monotonic_seconds,
        )


def _failed(frame: Frame) -> list[GoneRank]:
    """Those that were seen to end, of each job of which not all ended well."""
    by_job: dict[str, list[GoneRank]] = {}
    for gone in frame.gone:
        by_job.setdefault(gone.job_id, []).append(gone)
    left = {
        key_of(rank)
        for job in frame.jobs
        for rank in job.ranks
        if rank.ended_age_seconds is not None
    }
    return [gone for ranks in by_job.values() for gone in _not_well(ranks, left)]


def _not_well(ranks: Sequence[GoneRank], left: AbstractSet[Key]) -> list[GoneRank]:
    """Without those that did end well; nobody at all where the first one did and a launcher tidied up.

    Of whom nobody saw how it ended, it did not end well if it has left its page.
    """
    failed = [
        gone
        for gone in ranks
        if gone.signal is not None or gone.code or (gone.code is None and key_of(gone) in left)
    ]
    tidied = all(gone.signal == signal.SIGTERM for gone in failed)
    return [] if tidied and _first(ranks).code == 0 else failed


def _left(frame: Frame, failed: AbstractSet[str]) -> Iterator[GoneRank]:
    """Those whose page was left behind, and nobody knows how they ended.

    Only while others of their job live on, or where others were seen to fail.
    """
    known = {
        key_of(gone) for gone in frame.gone if gone.signal is not None or gone.code is not None
    }
    for job in frame.jobs:
        for rank in job.ranks if job.living or job.id in failed else ():
            age = rank.ended_age_seconds
            if age is None or age < TOGETHER_SECONDS:
                continue  # it lives; or the others may be ending with it
            if key_of(rank) in known or _is_replaced(rank.rank, job):
                continue
            yield gone_rank(rank, job, frame.monotonic_seconds - age)


def _is_missed(gone: GoneRank, frame: Frame) -> bool:
    """Its job goes on without it: that is news for as long as it lasts."""
    job = next((job for job in frame.jobs if job.id == gone.job_id), None)
    return job is not None and bool(job.living) and not _is_replaced(gone.rank, job)


def _is_replaced(number: int | None, job: JobFrame) -> bool:
    """The launcher has started it again."""
    return number is not None and number in {rank.rank for rank in job.living}


def _waiting_for(gone: GoneRank, frame: Frame) -> list[RankFrame]:
    """Ranks that are in a collective which it will never enter."""
    return [
        rank
        for job in frame.jobs
        if job.id == gone.job_id
        for rank in job.living
        if gone.rank in rank.waits_for
    ]


def _first(gone: Sequence[GoneRank]) -> GoneRank:
    """The one that took the others with it.

    Those that were noticed together may have ended in any order: then what was killed comes before
    what failed for it, and before what a launcher has ended.
    """
    first = min(each.monotonic_seconds for each in gone)
    together = [each for each in gone if each.monotonic_seconds - first <= TOGETHER_SECONDS]
    return min(together, key=lambda each: (_innocence(each), each.monotonic_seconds))


def _innocence(gone: GoneRank) -> int:
    if gone.signal is not None:
        return 3 if gone.signal == signal.SIGTERM else 0
    return 1 if gone.code else 2


def how(gone: GoneRank) -> str:
    """How it ended, for people."""
    if gone.signal is None and gone.code is None:
        return "nobody saw how; it has left its page"
    if gone.signal is None:
        return f"exit code {gone.code}"
    try:
        return f"signal {gone.signal} ({signal.Signals(gone.signal).name})"
    except ValueError:
        return f"signal {gone.signal}"
