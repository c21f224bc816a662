from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..rank_rule import not_known, probed_ranks
from ..rule import JobRule, Scene, Threshold
from ._input_wait import InputWait, input_waits
from ._periodic import Stalls, periodic_stalls

_WINDOW_SECONDS = 300.0


class PeriodicLoaderStall(JobRule):
    """Periodic loader stall.

    Meaning:
        Most steps get their batch at once, and one of every num_workers steps waits for it: the workers
        serve in turn, and one of them is late each time its turn comes, or all of them make their
        batches at the same pace, get done together and are then asked for all at once.
    Impact:
        The share that is shown is what these steps wait longer than the others while the GPU idles. In
        a synchronous job all ranks wait with the rank that waits.
    Diagnosis:
        The ledger of single steps on the job screen shows the wait come back at the same distance. One
        worker of the processes screen that is busier or blocked more than its brothers has the slow part
        of the data; where all are busy to the same degree, they are too few.
    Mitigation:
        Raise num_workers and prefetch_factor until batches wait for the loop and not it for them, deal
        long and short samples evenly to the workers (shuffle, or sort shards by size), make transforms
        cheaper.
    """

    id = "INP707"
    name = "periodic loader stall"
    short = "loader stalls"
    severity = "warning"
    thresholds = {
        "usual_waits": Threshold(5.0, "count", "ours: p99 above so many times the usual wait"),
        "stall_ratio": Threshold(0.05, "ratio", "ours: of the time, and of what the GPU idles"),
    }
    hold_seconds = 20.0
    look_seconds = 5.0
    explains = ("HW210", "INP701", "RUN436", "RUN441", "RUN443")
    next_step = "Raise num_workers or prefetch_factor, and deal slow samples evenly to the workers."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        found = input_waits(scene)[job.id]
        if isinstance(found, str):
            return not_known(subject, found)
        if not found.num_workers:
            return Verdict(subject=subject, holds=False)
        seen = self._stalls(job, found.num_workers, scene)
        if not seen:
            return Verdict(subject=subject, holds=False)
        rank, worst = max(seen, key=lambda each: each[1].lost_ratio)
        lost = worst.lost_ratio if found.idle is None else min(worst.lost_ratio, found.idle)
        if lost < self.limit["stall_ratio"]:
            return Verdict(subject=subject, holds=False)
        if worst.with_other_work:
            why = "saving, evaluating or logging comes at the same steps"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        return Verdict(
            subject=subject,
            holds=True,
            evidence=self._evidence(rank, worst, lost, found),
            lost_ratio=lost,
        )

    def _stalls(
        self, job: JobFrame, num_workers: int, scene: Scene
    ) -> list[tuple[int | None, Stalls]]:
        now, found = scene.frame.monotonic_seconds, list[tuple[int | None, Stalls]]()
        for rank, _ in probed_ranks(job, scene.frame):
            past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
            stalls = periodic_stalls(
                past.steps if past else (),
                num_workers,
                self.limit["usual_waits"],
                now,
                _WINDOW_SECONDS,
            )
            if stalls is not None:
                found.append((rank.rank, stalls))
        return found

    def _evidence(
        self, rank: int | None, stalls: Stalls, lost: float, found: InputWait
    ) -> tuple[Evidence, ...]:
        return (
            compared("stall_ratio", lost, self.limit["stall_ratio"], "ratio"),
            Evidence(
                signal="stall_period", value=float(stalls.period), unit="count", label="steps apart"
            ),
            Evidence(signal="num_workers", value=float(found.num_workers or 0), unit="count"),
            Evidence(
                signal="data_wait_p99_seconds",
                label="longest waits (p99)",
                value=stalls.p99_seconds,
                unit="seconds",
                threshold=self.limit["usual_waits"] * stalls.usual_seconds,
                comparison=">",
            ),
            Evidence(
                signal="data_wait_p50_seconds",
                label="usual wait",
                value=stalls.usual_seconds,
                unit="seconds",
            ),
            *((Evidence(signal="rank", value=f"r{rank}"),) if rank is not None else ()),
        )
