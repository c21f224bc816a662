from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import JobFrame
from ...probes.model.link_readings import PEER_OK
from ...probes.model.topology_frames import Island, TopologyFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene, Threshold

_ACCESS = "peer_access"


class JobSplitAcrossIslands(JobRule):
    """Job split across NVLink islands.

    Meaning:
        The job's GPUs form two or more groups that are linked by NVLink inside, and only by PCIe
        from one group to the other; its collectives cross from group to group.
    Impact:
        A ring runs at the rate of its slowest part: over PCIe a tenth of NVLink. All-reduce then
        takes around 30 % of a step where it should take a few per cent.
    Diagnosis:
        The matrix on the links screen shows the islands; PCIe traffic in step with the collectives
        shows that they cross. NCCL_DEBUG=INFO prints the rings as NCCL built them.
    Mitigation:
        Give each island its own process group for what talks most: tensor parallelism or FSDP
        sharding inside an island, and only the reduction of gradients between them (hybrid
        sharding, hierarchical all-reduce). Or run one job on each island.
    """

    id = "LNK505"
    name = "job split across NVLink islands"
    short = "job split"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("info", "warning")
    thresholds = {
        "pcie_ratio": Threshold(0.10, "ratio", "ours: of the PCIe link's limit"),
        "comm_ratio": Threshold(0.20, "ratio", "ours: healthy under 20 %"),
        "window_seconds": Threshold(30.0, "seconds", "ours"),
    }
    hold_seconds = 10.0
    look_seconds = 3.0
    explains = ("HW210", "RUN430", "RUN436")
    next_step = "Make one process group an island, so that only gradients cross between them."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        topology = scene.frame.topology
        if topology is None:
            return Verdict(subject=subject, holds=None, unknown_because="topology: not read")
        indices = {rank.gpu_index for rank in job.ranks if rank.gpu_index is not None}
        touched = [island for island in topology.islands if indices & set(island.gpus)]
        if len(touched) < 2:
            return Verdict(subject=subject, holds=False)
        gpus = [gpu for gpu in scene.frame.gpus if gpu.index in indices]
        pcie = self._pcie(gpus, scene)
        comm = _comm(job, scene, self.limit["window_seconds"])
        crosses = (pcie or 0.0) >= self.limit["pcie_ratio"]
        access = _access(topology, touched)
        waits = (comm or 0.0) >= self.limit["comm_ratio"]
        return Verdict(
            subject=subject,
            holds=True,
            severity="warning" if crosses or waits else "info",
            confidence=0.95 if crosses and waits else 0.8 if crosses or waits else 0.5,
            evidence=(
                Evidence(
                    signal="nvlink_islands",
                    label="NVLink islands",
                    value=" | ".join(map(_reported, touched)),
                ),
                compared(
                    "pcie_of_limit_ratio",
                    pcie,
                    self.limit["pcie_ratio"],
                    "ratio",
                    label="PCIe of its limit",
                ),
                compared("comm_ratio", comm, self.limit["comm_ratio"], "ratio", label="phase comm"),
                *(
                    ()
                    if access is None
                    else (Evidence(signal=_ACCESS, label="peer access between them", value=access),)
                ),
            ),
            next_step=_split(job, touched),
        )

    def _pcie(self, gpus: Sequence[GpuFrame], scene: Scene) -> float | None:
        """The busier direction over its limit, a mean over the GPUs."""
        ratios: list[float] = []
        for gpu in gpus:
            means = [
                scene.history.gpu(gpu.index, f"pcie_{way}_bytes_per_second").mean(
                    self.limit["window_seconds"]
                )
                for way in ("rx", "tx")
            ]
            known = [mean for mean in means if mean is not None]
            if known and gpu.pcie_limit_bytes_per_second:
                ratios.append(max(known) / gpu.pcie_limit_bytes_per_second)
        return fmean(ratios) if ratios else None


def _comm(job: JobFrame, scene: Scene, seconds: float) -> float | None:
    means = [scene.history.rank(rank.pid, "phase comm").mean(seconds) for rank in job.ranks]
    known = [mean for mean in means if mean is not None]
    return fmean(known) if known else None


def _access(topology: TopologyFrame, islands: Sequence[Island]) -> str | None:
    """Over PCIe; where the driver refuses even that, copies go through the memory of the host."""
    island_of = {index: island.name for island in islands for index in island.gpus}
    states = [
        peer.access
        for peer in topology.peers
        if peer.one in island_of and peer.two in island_of and peer.access is not None
        if island_of[peer.one] != island_of[peer.two]
    ]
    return next((state for state in states if state != PEER_OK), "over PCIe" if states else None)


def _reported(island: Island) -> str:
    return f"{island.name}: GPU {', '.join(map(str, island.gpus))}"


def _split(job: JobFrame, islands: Sequence[Island]) -> str:
    groups = [
        ", ".join(
            str(rank.rank)
            for rank in sorted(job.ranks, key=lambda rank: rank.rank or 0)
            if rank.gpu_index in island.gpus and rank.rank is not None
        )
        for island in islands
    ]
    if not all(groups):
        return JobSplitAcrossIslands.next_step
    return (
        "Split the process groups so that ranks " + " and ranks ".join(groups) + " stay together."
    )
