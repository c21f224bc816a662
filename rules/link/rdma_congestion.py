from __future__ import annotations

from ...probes.frame_links import PortFrame
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..rule import Scene, Threshold
from .ports import PortRule, count_evidence, errors

_BASE_LINE_SECONDS = 600.0
_FEWEST_PACKETS = 1000


class RdmaCongestion(PortRule):
    """RDMA congestion.

    Meaning:
        The port has data to send and may not, for want of credits from the other end (InfiniBand),
        or its packets come through marked as having met a full queue (RoCE).
    Impact:
        Collectives across nodes wait: all ranks spin in them, on every node of the job.
    Diagnosis:
        The wait counts ticks whose length differs from card to card, so compare with the port's
        own past and with its siblings, not between models. One port alone: a slow receiver or a
        hot uplink behind it. All ports of the node: the job's own incast, another job, or a
        routing that puts many flows on one uplink. Look at the switch's counters on the path.
    Mitigation:
        Adaptive routing, rail-optimised placement of ranks, fewer flows to one receiver; on RoCE
        check that PFC and ECN are set alike on every hop, and DCQCN on the cards.
    """

    id = "LNK509"
    name = "RDMA congestion"
    severity = "warning"
    needs_any = ("wait_ratio", "rx_packets")
    thresholds = {
        "warning_ratio": Threshold(0.10, "ratio", "ours; ticks of 8 bytes as NVIDIA's Quantum has"),
        "error_ratio": Threshold(0.30, "ratio", "ours"),
        "marked_ratio": Threshold(0.01, "ratio", "ours: marks and notices over packets received"),
        "window_seconds": Threshold(30.0, "seconds", "ours"),
    }
    hold_seconds = 15.0
    explains = ("HW210", "HW211", "LNK510")
    next_step = "Compare with the other ports and nodes, and look at the switches on the path."

    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        window = self.limit["window_seconds"]
        waits = scene.history.port(port.device, port.port, "wait_ratio")
        wait, usual = waits.mean(window), waits.mean(_BASE_LINE_SECONDS)
        marked = self._marked(port, scene)
        severity = self._severity(wait, marked)
        if severity is None:
            return Verdict(subject=subject, holds=False)
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            confidence=0.7 if marked is None or marked < self.limit["marked_ratio"] else 0.85,
            evidence=(
                compared(
                    "wait_ratio", wait, self.limit["warning_ratio"], "ratio", origin="inferred"
                ),
                Evidence(
                    signal="wait_ratio over ten minutes",
                    value=usual,
                    unit="ratio",
                    origin="inferred",
                ),
                compared("marked packets", marked, self.limit["marked_ratio"], "ratio"),
                *count_evidence(port, "congestion"),
            ),
        )

    def _severity(self, wait: float | None, marked: float | None) -> Severity | None:
        if wait is not None and wait >= self.limit["error_ratio"]:
            return "error"
        if wait is not None and wait >= self.limit["warning_ratio"]:
            return "warning"
        return "warning" if marked is not None and marked >= self.limit["marked_ratio"] else None

    def _marked(self, port: PortFrame, scene: Scene) -> float | None:
        window = self.limit["window_seconds"]
        marks = errors(port, scene.history, "congestion").grown(window)
        packets = scene.history.port(port.device, port.port, "rx_packets").grown(window)
        if marks is None or packets is None or packets < _FEWEST_PACKETS:
            return None
        return marks / packets
