from __future__ import annotations

from statistics import median

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.vocabulary import Origin
from ..finding import Evidence, Subject, Verdict, compared
from ..job_time import has_gpus, share_of
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import NO_PROBE, not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold

_WINDOW_SECONDS = 30.0
_OTHER_WAITS = ("data", "h2d", "checkpoint", "eval", "compile", "gc")
"""While the host is in one of these, it is for that that the GPU idles."""
_SYNC = "sync"


class _Waits(msgspec.Struct, frozen=True):
    """How the median rank waits for its GPU."""

    ratio: float
    others: float
    """In the phases that have other reasons to let it idle."""
    origin: Origin
    seconds: float | None
    """The window; ``None``: of so many stacks as were sampled."""


class SynchronizationPoints(JobRule):
    """Synchronization points.

    Meaning:
        The main thread stops again and again until the GPU has done all that it was given (.item(),
        .cpu(), a print of a tensor, torch.cuda.synchronize), and the GPU idles afterwards: it gets
        nothing new before the host has gone on.
    Impact:
        Without such points the host is some milliseconds ahead and the GPU never waits for it. The
        share that is shown is what the GPU idles and no other phase explains. A job that is bound by
        its GPU waits for it just as long, once a step, and loses nothing: that is not told.
    Diagnosis:
        gputop stacks PID shows where the main thread stands. torch.cuda.set_sync_debug_mode("warn")
        in the job names each such line.
    Mitigation:
        Keep losses and metrics on the GPU and fetch them every 50 steps, copy with non_blocking=True
        into pinned memory, take torch.cuda.synchronize out of the loop, and no branches on values of
        tensors.
    """

    id = "RUN439"
    name = "synchronization points"
    short = "sync points"
    severity = "warning"
    thresholds = {
        "sync_ratio": Threshold(0.10, "ratio", "fournex: 10 % of the time"),
        "idle_ratio": Threshold(0.10, "ratio", "ours: with less the GPU is busy, and waited for"),
        "run_ahead_ratio": Threshold(
            0.05, "ratio", "ours: of a step; whoever is farther ahead keeps the GPU busy"
        ),
    }
    look_seconds = 3.0
    explains = ("HW210", "RUN436", "RUN437")
    next_step = "See on the stacks screen which line waits, and fetch values from the GPU every 50 steps only."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not has_gpus(job.ranks):
            return Verdict(subject=subject, holds=False)
        if not steps_go_on(job):
            return not_known(subject, NOT_GOING_ON)
        waits = _measured(job, scene) or _sampled(job)
        if waits is None:
            return _not_seen(job, subject, scene)
        if waits.ratio < self.limit["sync_ratio"]:
            return Verdict(subject=subject, holds=False)
        idle = _idle(job, scene)
        if idle is None:
            why = "whether the GPUs idle is not known"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        lost = idle - waits.others
        ahead = _run_ahead(job.ranks)
        if lost < self.limit["idle_ratio"] or (ahead or 0.0) >= self.limit["run_ahead_ratio"]:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.9 if ahead is not None else 0.7,
            evidence=self._evidence(waits, lost, idle, ahead),
            next_step=self._step(job),
            lost_ratio=lost,
            lost_origin="inferred",
        )

    def _evidence(
        self, waits: _Waits, lost: float, idle: float, ahead: float | None
    ) -> tuple[Evidence, ...]:
        return (
            compared(
                "sync_ratio",
                waits.ratio,
                self.limit["sync_ratio"],
                "ratio",
                label="waits for the GPU",
                origin=waits.origin,
                mean_seconds=waits.seconds,
            ),
            compared(
                "idle_ratio",
                lost,
                self.limit["idle_ratio"],
                "ratio",
                label="GPU idle for no other reason",
                origin="inferred",
            ),
            Evidence(
                signal="gpu_idle_ratio", value=idle, unit="ratio", mean_seconds=_WINDOW_SECONDS
            ),
            *(
                (compared("run_ahead_ratio", ahead, self.limit["run_ahead_ratio"], "ratio"),)
                if ahead is not None
                else ()
            ),
        )

    def _step(self, job: JobFrame) -> str | None:
        """With the line, where a stack shows one that waits now."""
        places = [rank.place for rank in job.ranks if rank.phase == _SYNC and rank.place]
        if not places:
            return None
        return (
            f"Its main thread waits for the GPU at {places[0]}: fetch values every 50 steps only."
        )


def _not_seen(job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
    """A probe tells of such waits where the program marks them; else it takes stacks."""
    if probed_ranks(job, scene.frame):
        why = "its probes tell of no wait for the GPU, and no stacks were sampled"
        return Verdict(subject=subject, holds=None, unknown_because=why)
    why = f"the ranks have {NO_PROBE}, or open the stacks screen for a while"
    return Verdict(subject=subject, holds=None, unknown_because=why, unavailable=why)


def _measured(job: JobFrame, scene: Scene) -> _Waits | None:
    """As the probes tell; a job whose probe was never in that phase does not tell of it."""
    found = share_of(_SYNC, job, scene, _WINDOW_SECONDS)
    if isinstance(found, str) or found.ratio <= 0.0:
        return None
    others = [share_of(phase, job, scene, _WINDOW_SECONDS) for phase in _OTHER_WAITS]
    known = sum(each.ratio for each in others if not isinstance(each, str))
    return _Waits(found.ratio, known, "measured", found.seconds)


def _sampled(job: JobFrame) -> _Waits | None:
    """As many stacks of the main threads tell."""
    shares = [rank.phases_sampled for rank in job.ranks if rank.phases_sampled]
    if not shares:
        return None
    others = [sum(share.get(phase, 0.0) for phase in _OTHER_WAITS) for share in shares]
    sync = median(share.get(_SYNC, 0.0) for share in shares)
    return _Waits(sync, median(others), "sampled", None)


def _idle(job: JobFrame, scene: Scene) -> float | None:
    """Share of the time in which the median GPU runs no kernel."""
    busy = [
        mean
        for rank in job.ranks
        if rank.gpu_index is not None
        and (mean := scene.history.gpu(rank.gpu_index, "utilization_ratio").mean(_WINDOW_SECONDS))
        is not None
    ]
    return 1.0 - median(busy) if busy else None


def _run_ahead(ranks: tuple[RankFrame, ...]) -> float | None:
    """Of the median rank, as a share of its step."""
    found = [
        rank.run_ahead_seconds / rank.step_p50_seconds
        for rank in ranks
        if rank.run_ahead_seconds is not None and rank.step_p50_seconds
    ]
    return median(found) if found else None
