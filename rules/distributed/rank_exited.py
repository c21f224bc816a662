from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame, exited_rank
from ...probes.model.kernel_log import KernelLogFrame
from ...probes.model.rank_activity import ExitedRank
from ...probes.model.reading import Key, key_of
from ..finding import Evidence, Subject, Verdict
from ..log_lines import KERNEL_LOG_LINE
from ..rule import Rule, Scene
from ..waits.children import oom_kills
from ..waits.missing import MissingRank, missing_ranks
from ..waits.ranks import KEPT_WAITING, names_of
from ._holders import OOM_KILLS

KEPT_SECONDS = 300.0
OOM_KILLER = "the kernel's OOM killer"
_KILL_SECONDS = 60.0
"""From the kernel's line to the moment at which the rank is seen to be gone, either way."""
_XID_SECONDS = 600.0
"""An older Xid of its pid may be of another process, for pids come back."""
_LESS_MEMORY = (
    "Raise the memory limit that it met, or let the job hold less: fewer workers, less prefetching, "
    "no copy of the data in each worker."
)
_RESTARTED = "Its launcher has started it again: read the end of the log of the attempt before."
TOGETHER_SECONDS = 2.0
"""Ranks are looked at once a second."""


class RankExited(Rule):
    """Rank exited.

    Meaning:
        A rank has ended by a signal or with an error code, or it is not there any more and has left
        its probe's page, which it takes away when it ends well: so it is found too when it exited before
        anybody looked. One that is not there while all others of its node stand still was never seen.
        What a launcher has started again is information. Of a job whose ranks all ended, the first one is named; launchers end the
        others when they notice.
    Impact:
        The job ends, or waits for that rank until the time limit of its process group.
    Diagnosis:
        SIGKILL without anybody's doing is the kernel's OOM killer, whose line in the kernel log is
        shown where that can be read (else see memory.events of the control group), or Slurm's
        limits. SIGSEGV and SIGABRT are crashes: see the end of the rank's
        log, and Xid lines in the kernel log. A code of 1 is a Python exception.
    Mitigation:
        Mend the cause that the log names, and start again from the last checkpoint.
    """

    id = "RUN424"
    name = "rank exited"
    severity = "error"
    costs = ("stalled", "wait")
    costs_job = True
    severities = ("info", "error")
    about_waiting = True
    hold_seconds = 0.0
    clear_seconds = 0.0
    explains = ("HW210", "HW211", "MEM310", "RUN404", "RUN405", "RUN406", "RUN436")
    job_wide = True
    next_step = "Read the end of that rank's log, and dmesg for the OOM killer and Xid lines."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        frame = scene.frame
        failed = _failed(frame)
        fallen = [*failed, *_left(frame, {exited.job_id for exited in failed})]
        for job in dict.fromkeys(exited.job_id for exited in fallen):
            exited = _first([each for each in fallen if each.job_id == job])
            age = frame.monotonic_seconds - exited.monotonic_seconds
            if age < KEPT_SECONDS or _is_missed(exited, frame):
                yield self._verdict(exited, frame)
        told = {exited.job_id for exited in fallen}
        yield from (
            _absent(each, scene) for each in missing_ranks(scene) if each.job.id not in told
        )

    def _verdict(self, exited: ExitedRank, frame: Frame) -> Verdict:
        others = sum(
            1
            for each in frame.exited_ranks
            if each.job_id == exited.job_id and each.pid != exited.pid
        )
        waiting = _waiting_for(exited, frame)
        restarted, oom = _is_restarted(exited, frame), oom_line(exited, frame)
        ended = exited.monotonic_seconds + frame.time_seconds - frame.monotonic_seconds
        xid = next(
            (
                xid.code
                for xid in reversed(frame.xids)
                if xid.pid == exited.pid and abs(xid.time_seconds - ended) < _XID_SECONDS
            ),
            None,
        )
        evidence = (
            Evidence(signal="ended_by", value=how(exited)),
            Evidence(signal="killed_by", value=OOM_KILLER if oom else exited.killed_by or None),
            Evidence(signal=KERNEL_LOG_LINE, value=oom.text if oom else None),
            Evidence(
                signal="oom_kills_since_start",
                label=OOM_KILLS,
                value=None if oom else _oom_kills(exited, frame),
                unit="count",
            ),
            Evidence(signal="xid", value=None if xid is None else str(xid)),
            Evidence(
                signal="ended_after_it",
                label="others that ended after it",
                value=others or None,
                unit="processes",
            ),
            Evidence(signal=KEPT_WAITING, value=names_of(waiting) if waiting else None),
        )
        return Verdict(
            subject=Subject(
                kind="rank",
                id=f"{exited.job_id} {exited.pid}@{exited.start_time_seconds:.2f}",
                rank=exited.rank,
                gpu=exited.gpu_index,
                job=exited.job_id,
            ),
            holds=True,
            severity="info" if restarted else "error",
            evidence=tuple(each for each in evidence if each.value is not None),
            since_monotonic_seconds=exited.monotonic_seconds,
            next_step=_RESTARTED if restarted else _LESS_MEMORY if oom else None,
        )


def oom_line(exited: ExitedRank, frame: Frame) -> KernelLogFrame | None:
    """The line of the kernel's log that says that it was killed for want of memory."""
    if exited.signal not in (None, signal.SIGKILL) or exited.code is not None:
        return None
    ended = exited.monotonic_seconds + frame.time_seconds - frame.monotonic_seconds
    for event in reversed(frame.kernel_log):
        if event.kind == "oom kill" and event.pid == exited.pid:
            moment = event.time_seconds
            if moment is not None and abs(moment - ended) < _KILL_SECONDS:
                return event
    return None


def _oom_kills(exited: ExitedRank, frame: Frame) -> float | None:
    """Beside one that was killed outright, by whom nobody has said."""
    if exited.signal != signal.SIGKILL or exited.killed_by:
        return None
    return oom_kills({exited.cgroup} - {None}, frame) or None


def _absent(each: MissingRank, scene: Scene) -> Verdict:
    return Verdict(
        subject=Subject(
            kind="rank", id=f"{each.job.id} rank {each.rank}", rank=each.rank, job=each.job.id
        ),
        holds=True,
        confidence=0.8,
        evidence=(
            Evidence(signal="ended_by", value="nobody saw how; it is not there"),
            Evidence(
                signal="expected_ranks",
                label="ranks that should be here",
                value=float(each.expected),
                unit="count",
            ),
            Evidence(signal=KEPT_WAITING, value=names_of(each.job.ranks)),
        ),
        since_monotonic_seconds=scene.frame.monotonic_seconds - each.seconds,
    )


def _is_restarted(exited: ExitedRank, frame: Frame) -> bool:
    """Its launcher has started all anew, and the job goes on."""
    job = next((job for job in frame.jobs if job.id == exited.job_id), None)
    return job is not None and bool(job.living) and _is_replaced(exited.rank, job)


def _failed(frame: Frame) -> list[ExitedRank]:
    """Those that were seen to end, of each job of which not all ended well."""
    by_job: dict[str, list[ExitedRank]] = {}
    for exited in frame.exited_ranks:
        by_job.setdefault(exited.job_id, []).append(exited)
    left = {
        key_of(rank)
        for job in frame.jobs
        for rank in job.ranks
        if rank.ended_age_seconds is not None
    }
    return [exited for ranks in by_job.values() for exited in _not_well(ranks, left)]


def _not_well(ranks: Sequence[ExitedRank], left: AbstractSet[Key]) -> list[ExitedRank]:
    """Without those that did end well; nobody at all where the first one did and a launcher tidied up.

    Of whom nobody saw how it ended, it did not end well if it has left its page.
    """
    failed = [
        exited
        for exited in ranks
        if exited.signal is not None
        or exited.code
        or (exited.code is None and key_of(exited) in left)
    ]
    tidied = all(exited.signal == signal.SIGTERM for exited in failed)
    return [] if tidied and _first(ranks).code == 0 else failed


def _left(frame: Frame, failed: AbstractSet[str]) -> Iterator[ExitedRank]:
    """Those whose page was left behind, and nobody knows how they ended.

    Only while others of their job live on, or where others were seen to fail.
    """
    known = {
        key_of(exited)
        for exited in frame.exited_ranks
        if exited.signal is not None or exited.code is not None
    }
    for job in frame.jobs:
        for rank in job.ranks if job.living or job.id in failed else ():
            age = rank.ended_age_seconds
            if age is None or age < TOGETHER_SECONDS:
                continue  # it lives; or the others may be ending with it
            if key_of(rank) in known or _is_replaced(rank.rank, job):
                continue
            yield exited_rank(rank, job, frame.monotonic_seconds - age)


def _is_missed(exited: ExitedRank, frame: Frame) -> bool:
    """Its job goes on without it: that is news for as long as it lasts."""
    job = next((job for job in frame.jobs if job.id == exited.job_id), None)
    return job is not None and bool(job.living) and not _is_replaced(exited.rank, job)


def _is_replaced(number: int | None, job: JobFrame) -> bool:
    """The launcher has started it again."""
    return number is not None and number in {rank.rank for rank in job.living}


def _waiting_for(exited: ExitedRank, frame: Frame) -> list[RankFrame]:
    """Ranks that are in a collective which it will never enter."""
    return [
        rank
        for job in frame.jobs
        if job.id == exited.job_id
        for rank in job.living
        if exited.rank in rank.waits_for
    ]


def _first(exited: Sequence[ExitedRank]) -> ExitedRank:
    """The one that took the others with it.

    Those that were noticed together may have ended in any order: then what was killed comes before
    what failed for it, and before what a launcher has ended.
    """
    first = min(each.monotonic_seconds for each in exited)
    together = [each for each in exited if each.monotonic_seconds - first <= TOGETHER_SECONDS]
    return min(together, key=lambda each: (_innocence(each), each.monotonic_seconds))


def _innocence(exited: ExitedRank) -> int:
    if exited.signal is not None:
        return 3 if exited.signal == signal.SIGTERM else 0
    return 1 if exited.code else 2


def how(exited: ExitedRank) -> str:
    """How it ended, for people."""
    if exited.signal is None and exited.code is None:
        return "nobody saw how; it has left its page"
    if exited.signal is None:
        return f"exit code {exited.code}"
    try:
        return f"signal {exited.signal} ({signal.Signals(exited.signal).name})"
    except ValueError:
        return f"signal {exited.signal}"
