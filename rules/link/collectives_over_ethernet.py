from __future__ import annotations

from collections.abc import Mapping

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import JobRule, Scene, Threshold, is_multi_node
from ._node_traffic import rdma_traffic, settled_for

_VARIABLES = ("NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
_OFF = frozenset({"1", "true"})


class CollectivesOverEthernet(JobRule):
    """Collectives over Ethernet.

    Meaning:
        The job runs on several nodes and this node has RDMA ports that are up, but what it
        exchanges goes over an ordinary network interface, in both directions, and RDMA is idle.
    Impact:
        TCP carries a tenth or less of what RDMA does, and takes CPU for it: steps become several
        times as long.
    Diagnosis:
        NCCL_DEBUG=INFO prints "NET/Socket" or "NET/IB". Usual reasons: NCCL_IB_DISABLE=1 left from
        a test, NCCL_IB_HCA naming no port that is up, /dev/infiniband not passed into the
        container, no locked memory allowed (ulimit -l), a missing libibverbs.
    Mitigation:
        Unset NCCL_IB_DISABLE and NCCL_NET, correct NCCL_IB_HCA, pass the devices and
        --ulimit memlock=-1 to the container, then start the job anew.
    """

    id = "LNK512"
    name = "collectives over Ethernet"
    short = "over Ethernet"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    thresholds = {
        "ethernet_bytes_per_second": Threshold(
            100e6, "bytes_per_second", "ours: both ways, which reading data alone does not do"
        ),
        "rdma_ratio": Threshold(0.01, "ratio", "ours: of what Ethernet carries"),
        "window_seconds": Threshold(30.0, "seconds", "ours"),
    }
    hold_seconds = 15.0
    look_seconds = 3.0
    explains = ("HW210", "LNK511", "RUN430", "RUN436")
    next_step = "Start it with NCCL_DEBUG=INFO and read why NCCL chose NET/Socket over NET/IB."

    def judge_job(self, job: JobFrame, subject: Subject, scene: Scene) -> Verdict:
        if not is_multi_node(job):
            return Verdict(subject=subject, holds=False)
        if why := settled_for(job):
            return Verdict(subject=subject, holds=None, unknown_because=why)
        window = self.limit["window_seconds"]
        rdma = rdma_traffic(scene, window)
        ways = [scene.history.host(f"{way}_bytes_per_second").mean(window) for way in ("rx", "tx")]
        if rdma is None or None in ways:
            why = "no RDMA port is up" if rdma is None else "network interfaces: not read yet"
            return Verdict(subject=subject, holds=None, unknown_because=why)
        least = min(way for way in ways if way is not None)
        limit = self.limit["ethernet_bytes_per_second"]
        share = rdma.mean / (2 * least) if least else None
        if least < limit or share is None or share >= self.limit["rdma_ratio"]:
            return Verdict(subject=subject, holds=False)
        reported = _variables(job, scene.frame)
        return Verdict(
            subject=subject,
            holds=True,
            confidence=0.95 if reported.get("NCCL_IB_DISABLE") in _OFF else 0.8,
            evidence=(
                compared(
                    "ethernet_bytes_per_second",
                    least,
                    limit,
                    "bytes_per_second",
                    label="Ethernet both ways",
                ),
                compared(
                    "rdma_to_ethernet_ratio",
                    share,
                    self.limit["rdma_ratio"],
                    "ratio",
                    label="RDMA against Ethernet",
                ),
                *(
                    Evidence(signal=name.lower(), label=name, value=value)
                    for name, value in reported.items()
                ),
            ),
            next_step="Start it without NCCL_IB_DISABLE, which keeps NCCL off the RDMA ports."
            if reported.get("NCCL_IB_DISABLE") in _OFF
            else None,
        )


def _variables(job: JobFrame, frame: Frame) -> Mapping[str, str]:
    """What the job's environment says about the choice of network."""
    for rank in job.ranks:
        process = frame.process(rank.pid)
        if process is not None and process.environment:
            return {
                name: process.environment[name]
                for name in _VARIABLES
                if name in process.environment
            }
    return {}
