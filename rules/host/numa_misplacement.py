from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.topology_frames import PlacementFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Rule, Scene, Threshold


class NumaMisplacement(Rule):
    """NUMA misplacement.

    Meaning:
        A rank may run only on CPUs of another memory node than its GPU's, or runs there most of
        the time, or has most of its memory there.
    Impact:
        Copies to and from the GPU cross from socket to socket: slower, uneven, and in the way of
        other ranks. It matters where copies, kernel launches or the loader limit the job.
    Diagnosis:
        The topology matrix shows each GPU's node and CPUs. taskset -cp PID shows where a rank may
        run, numastat -p PID where its memory is. A launcher that binds by local rank in the wrong
        order gives every rank the other socket.
    Mitigation:
        Bind each rank to its GPU's node when it starts (numactl --cpunodebind --membind, torchrun's
        or Slurm's --gpu-bind and --cpu-bind options). Moving it later leaves its memory behind.
    """

    id = "HST117"
    name = "NUMA misplacement"
    short = "NUMA misplaced"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("info", "warning")
    thresholds = {
        "off_node_ratio": Threshold(0.8, "ratio", "ours: of the time"),
        "local_memory_ratio": Threshold(0.5, "ratio", "ours"),
        "utilization_ratio": Threshold(0.9, "ratio", "ours: healthy above"),
        "window_seconds": Threshold(60.0, "seconds", "ours"),
    }
    look_seconds = 5.0
    explains = ("HW210", "INP701", "INP703", "RUN436")
    next_step = "Bind this rank to the CPUs and memory of its GPU's node when it starts."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for placement in scene.frame.placements:
            yield self._judge(placement, scene)

    def _judge(self, placement: PlacementFrame, scene: Scene) -> Verdict:
        subject = Subject(
            kind="rank",
            id=f"{placement.pid}@{placement.start_time_seconds:.2f}",
            rank=placement.rank,
            gpu=placement.gpu_index,
            job=placement.job_id,
        )
        if placement.gpu_node is None:
            why = f"gpu_node: {placement.missing.get('gpu_node', 'not known')}"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        window = self.limit["window_seconds"]
        series = scene.history.placement(placement.pid)
        away = series.mean(window) if series.covered(window) >= window / 2 else None
        local = placement.local_memory_ratio
        bound = placement.may_run_near is False
        runs = away is not None and away >= self.limit["off_node_ratio"]
        stays = local is not None and local < self.limit["local_memory_ratio"]
        if not (bound or runs or stays):
            return Verdict(subject=subject, holds=False)
        busy = self._busy(placement, scene)
        slowed = busy is not None and busy < self.limit["utilization_ratio"]
        return Verdict(
            subject=subject,
            holds=True,
            # Nothing is lost yet where the GPU is kept busy all the same.
            severity="warning" if slowed else "info",
            confidence=0.9 if bound or (runs and stays) else 0.7,
            evidence=(
                Evidence(signal="gpu_numa_node", label="GPU's node", value=str(placement.gpu_node)),
                Evidence(signal="allowed_cpu_list", label="may run on CPUs", value=placement.cpus),
                compared("runs_elsewhere_ratio", away, self.limit["off_node_ratio"], "ratio"),
                compared("memory_near_ratio", local, self.limit["local_memory_ratio"], "ratio"),
                compared("utilization_ratio", busy, self.limit["utilization_ratio"], "ratio"),
            ),
        )

    def _busy(self, placement: PlacementFrame, scene: Scene) -> float | None:
        if placement.gpu_index is None:
            return None
        series = scene.history.gpu(placement.gpu_index, "utilization_ratio")
        return series.mean(self.limit["window_seconds"])
