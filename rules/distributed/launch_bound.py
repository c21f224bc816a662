from __future__ import annotations

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..progress import NOT_GOING_ON, is_unsettled, overdue_seconds
from ..rank_rule import RankRule, not_known
from ..rule import Scene, Threshold

_WINDOW_SECONDS = 30.0
_WAITS = ("data", "h2d", "comm", "checkpoint", "eval", "compile", "sync")


class LaunchBound(RankRule):
    """Launch-bound.

    Meaning:
        The main thread keeps a core busy all the time, is hardly ahead of its GPU, and the GPU has
        nothing to run for much of the time: kernels are so small that launching them takes longer.
    Impact:
        The GPU waits for Python between any two kernels. A faster GPU changes nothing.
    Diagnosis:
        gputop probe PID profile 3 records three steps: many short kernels with gaps in between.
    Mitigation:
        torch.compile or CUDA graphs (mode="reduce-overhead"), larger batches, fused optimizers
        (fused=True, foreach=True), no .item() or print of tensors within a step.
    """

    id = "RUN437"
    name = "launch-bound"
    severity = "warning"
    thresholds = {
        "main_cpu_cores": Threshold(0.90, "cores", "gpuprof: one core full"),
        "utilization_ratio": Threshold(0.70, "ratio", "ours; fournex: under 50 % is sure"),
        "run_ahead_ratio": Threshold(0.05, "ratio", "ours: of a step"),
        "waiting_ratio": Threshold(0.15, "ratio", "ours: else it waits for something else"),
    }
    look_seconds = 3.0
    explains = ("HW210", "RUN436")
    next_step = (
        "Record three steps: gputop probe PID profile 3; then torch.compile or larger batches."
    )

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        if rank.gpu_index is None:
            return Verdict(subject=subject, holds=False)
        if is_unsettled(rank) or overdue_seconds(job) is not None:
            return not_known(subject, NOT_GOING_ON)
        busy = scene.history.gpu(rank.gpu_index, "utilization_ratio").mean(_WINDOW_SECONDS)
        cores = rank.activity.cpu_cores if rank.activity else None
        step, ahead = rank.step_p50_seconds, rank.run_ahead_seconds
        if busy is None or cores is None or ahead is None or not step:
            why = "it takes the GPU's utilization, the main thread's CPU and the run-ahead"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        waits = sum(
            scene.history.rank(rank.pid, f"phase {phase}").mean(_WINDOW_SECONDS) or 0.0
            for phase in _WAITS
        )
        holds = (
            cores >= self.limit["main_cpu_cores"]
            and busy < self.limit["utilization_ratio"]
            and ahead / step < self.limit["run_ahead_ratio"]
            and waits < self.limit["waiting_ratio"]
        )
        if not holds:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.8,
            evidence=(
                compared(
                    "utilization_ratio",
                    busy,
                    self.limit["utilization_ratio"],
                    "ratio",
                    mean_seconds=_WINDOW_SECONDS,
                ),
                compared("main_cpu_cores", cores, self.limit["main_cpu_cores"], "cores"),
                compared("run_ahead_ratio", ahead / step, self.limit["run_ahead_ratio"], "ratio"),
                Evidence(signal="waiting_ratio", value=waits, unit="ratio"),
            ),
            next_step=self.next_step.replace("PID", str(rank.pid)),
            lost_ratio=1.0 - busy,
        )
