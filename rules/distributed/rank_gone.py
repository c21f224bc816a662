from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

from ...probes.frame import Frame
from ...probes.rank_frame import GoneRank
from ..finding import Evidence, Subject, Verdict
from ..rule import Rule, Scene

KEPT_SECONDS = 300.0
TOGETHER_SECONDS = 2.0
"""Ranks are looked at once a second."""


class RankGone(Rule):
    """Rank gone.

    Meaning:
        A rank has ended by a signal or with an error code. Of a job whose ranks all ended, the first
        one is named; launchers end the others when they notice.
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
    explains = ("RUN404", "RUN405", "RUN406")
    job_wide = True
    next_step = "Read the end of that rank's log, and dmesg for the OOM killer and Xid lines."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for job in dict.fromkeys(gone.job_id for gone in scene.frame.gone):
            gone = _first([each for each in scene.frame.gone if each.job_id == job])
            age = scene.frame.monotonic_seconds - gone.monotonic_seconds
            if age < KEPT_SECONDS and (gone.signal is not None or gone.code not in (None, 0)):
                yield self._verdict(gone, scene.frame)

    def _verdict(self, gone: GoneRank, frame: Frame) -> Verdict:
        others = sum(
            1 for each in frame.gone if each.job_id == gone.job_id and each.pid != gone.pid
        )
        xid = next((xid.code for xid in reversed(frame.xids) if xid.pid == gone.pid), None)
        evidence = (
            Evidence(signal="ended by", value=how(gone)),
            Evidence(signal="killed by", value=gone.killer or None),
            Evidence(signal="xid", value=xid),
            Evidence(signal="others that ended after it", value=others or None, unit="processes"),
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


def _first(gone: Sequence[GoneRank]) -> GoneRank:
    """The one that took the others with it.

    Those that were noticed together may have ended in any order: then what was killed comes before
    what failed for it, and before what a launcher has ended.
    """
    together = [
        each
        for each in gone
        if each.monotonic_seconds - gone[0].monotonic_seconds <= TOGETHER_SECONDS
    ]
    return min(together, key=_innocence)


def _innocence(gone: GoneRank) -> int:
    if gone.signal is not None:
        return 3 if gone.signal == signal.SIGTERM else 0
    return 1 if gone.code else 2


def how(gone: GoneRank) -> str:
    """How it ended, for people."""
    if gone.signal is None:
        return f"exit code {gone.code}"
    try:
        return f"signal {gone.signal} ({signal.Signals(gone.signal).name})"
    except ValueError:
        return f"signal {gone.signal}"
