from __future__ import annotations

import itertools

from ...probes.model.frame import ProbeFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NO_LOSS_YET
from ..rank_rule import RankRule
from ..rule import Scene, Threshold
from ..trend import seconds_left

_WINDOW_SECONDS = 300.0
_PARTS = 5


class MemoryCreep(RankRule):
    """Device memory creeps up.

    Meaning:
        What PyTorch has allocated grows from minute to minute, also where it is least within a step:
        something keeps tensors that no step needs any more.
    Impact:
        At this rate the device is full after the time that is shown, and the rank ends with "CUDA out
        of memory", with all others.
    Diagnosis:
        gputop probe PID memory-snapshot writes the allocator's blocks with the place that made each. Losses
        summed without .item(), lists of outputs, hooks and caches of variable length are the usual ones.
    Mitigation:
        Keep numbers instead of tensors (loss.item(), .detach()), clear what is collected, and save a
        checkpoint before the memory is full.
    """

    id = "MEM304"
    name = "device memory creeps up"
    short = "memory creep"
    severity = "warning"
    unpriced = NO_LOSS_YET
    severities = ("warning", "error")
    thresholds = {
        "growth_bytes": Threshold(float(1 << 30), "bytes", "TraceML: 1 GiB over 50 steps"),
        "steps": Threshold(50.0, "count", "TraceML"),
        "error_seconds": Threshold(900.0, "seconds", "ours: time to save a checkpoint"),
    }
    hold_seconds = 20.0
    look_seconds = 10.0
    next_step = "Save a checkpoint, and find what keeps tensors: gputop probe PID memory-snapshot."

    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        if probe.allocator is None or probe.allocator.allocated_bytes is None:
            return Verdict(subject=subject, holds=None, unknown_because="no allocator on a GPU")
        series = scene.history.rank(rank.pid, "allocated_bytes")
        covered = series.covered(_WINDOW_SECONDS)
        steps = self._steps(rank, covered, scene)
        if covered < 0.9 * _WINDOW_SECONDS or steps < self.limit["steps"]:
            return Verdict(subject=subject, holds=False)
        values = series.window(_WINDOW_SECONDS)
        size = len(values) // _PARTS
        least = [min(values[at * size : (at + 1) * size]) for at in range(_PARTS)]
        grown = least[-1] - least[0]
        steady = all(
            later - earlier >= 0.1 * grown / (_PARTS - 1)
            for earlier, later in itertools.pairwise(least)
        )
        if grown < self.limit["growth_bytes"] or not steady:
            return Verdict(subject=subject, holds=False)
        left = self._left(rank, grown / (covered * (_PARTS - 1) / _PARTS), scene)
        return Verdict(
            subject=subject,
            holds=True,
            severity="error"
            if left is not None and left < self.limit["error_seconds"]
            else "warning",
            evidence=(
                compared("memory_growth_bytes", grown, self.limit["growth_bytes"], "bytes"),
                Evidence(signal="over_seconds", value=covered, unit="seconds"),
                Evidence(
                    signal="allocated_bytes",
                    value=float(probe.allocator.allocated_bytes),
                    unit="bytes",
                ),
                Evidence(signal="time_left_seconds", value=left, unit="seconds", origin="inferred"),
            ),
            next_step=self.next_step.replace("PID", str(rank.pid)),
        )

    def _steps(self, rank: RankFrame, seconds: float, scene: Scene) -> float:
        past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
        since = scene.frame.monotonic_seconds - seconds
        return sum(step.monotonic_seconds >= since for step in past.steps) if past else 0

    def _left(self, rank: RankFrame, per_second: float, scene: Scene) -> float | None:
        gpu = scene.frame.gpu(rank.gpu_index) if rank.gpu_index is not None else None
        if gpu is None or gpu.memory_total_bytes is None or rank.memory_allocated_bytes is None:
            return None
        return seconds_left(gpu.memory_total_bytes - rank.memory_allocated_bytes, per_second)
