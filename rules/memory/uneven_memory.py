from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rank_rule import NO_PROBE, probed_ranks
from ..rule import JobRule, Scene, Threshold

_WINDOW_SECONDS = 60.0
_LEAST_RANKS = 2


class UnevenMemory(JobRule):
    """Ranks need memory unevenly.

    Meaning:
        The fullest rank holds much more than the emptiest, at the peak of a step. Pipeline stages and
        experts do so by design, so it is information until the fullest is short of memory.
    Impact:
        The batch size of all is limited by the fullest: the memory of the others lies idle.
    Diagnosis:
        Compare the ranks' memory on the job screen. Rank 0 alone being fuller means that it keeps what
        others do not: gathered states, evaluation, logging.
    Mitigation:
        Move layers between stages, shard what rank 0 gathers, or offload it to the CPU.
    """

    id = "MEM307"
    name = "ranks need memory unevenly"
    short = "uneven memory"
    severity = "info"
    unpriced = NO_LOSS_YET
    severities = ("info", "warning")
    thresholds = {
        "uneven_ratio": Threshold(0.30, "ratio", "TraceML: 20/30 %"),
        "info_used_ratio": Threshold(0.50, "ratio", "TraceML: with pressure 30/50 %"),
        "warning_used_ratio": Threshold(0.92, "ratio", "TraceML: near out of memory"),
    }
    look_seconds = 5.0
    next_step = "Balance what the ranks hold, or move what the fullest gathers elsewhere."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        probed = probed_ranks(job, scene.frame)
        if not probed:
            why = f"the ranks have {NO_PROBE}"
            return Verdict(subject=subject, holds=None, unknown_because=why, unavailable=why)
        peaks: list[tuple[float, int, float]] = []
        for rank, _ in probed:
            gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
            values = scene.history.rank(rank.pid, "allocated_bytes").window(_WINDOW_SECONDS)
            if gpu is not None and gpu.memory_total_bytes and values and rank.rank is not None:
                peaks.append((max(values), rank.rank, float(gpu.memory_total_bytes)))
        if len(peaks) < max(_LEAST_RANKS, len(job.ranks)):
            return Verdict(
                subject=subject, holds=None, unknown_because="not known of all its ranks"
            )
        (most, fullest, room), (least, emptiest, _) = max(peaks), min(peaks)
        uneven, used = (most - least) / most if most else 0.0, most / room
        if uneven < self.limit["uneven_ratio"] or used < self.limit["info_used_ratio"]:
            return Verdict(subject=subject, holds=False)
        severity: Severity = "warning" if used >= self.limit["warning_used_ratio"] else "info"
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            evidence=(
                compared("uneven_ratio", uneven, self.limit["uneven_ratio"], "ratio"),
                Evidence(signal="fullest_rank", value=str(fullest)),
                Evidence(signal="allocated_bytes", value=most, unit="bytes"),
                Evidence(signal="emptiest_rank", value=str(emptiest)),
                Evidence(signal="least_allocated_bytes", value=least, unit="bytes"),
                compared("allocated_ratio", used, self.limit[f"{severity}_used_ratio"], "ratio"),
            ),
        )
