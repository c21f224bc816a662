from __future__ import annotations

from ...probes.model.link_frames import PortFrame
from ...probes.model.port_counters import COUNTERS
from ..finding import Evidence, Severity, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, Threshold, unavailable_field
from ..series import Series
from ._ports import PortRule, count_evidence, errors

_BASE_LINE_SECONDS = 600.0
_FEWEST_PACKETS = 1000
_USUAL = "wait_ten_minutes_ratio"
_FULL_FOR = "counter_full_seconds"
_RESET = (
    "Set the port's counters to 0 (perfquery -R, as root) to see whether it still waits, and look at "
    "the switches on the path."
)


class RdmaCongestion(PortRule):
    """RDMA congestion.

    Meaning:
        The port has data to send and may not, for want of credits from the other end (InfiniBand),
        or its packets come through marked as having met a full queue (RoCE).
    Impact:
        Collectives across nodes wait: all ranks spin in them, on every node of the job.
    Diagnosis:
        One port alone: a slow receiver or a hot uplink behind it. All ports of the node: the job's
        own incast, another job, or a routing that puts many flows on one uplink. Look at the
        switch's counters on the path. Cards older than HDR count longer ticks, so that theirs is the
        least share that it can be: compare it with the port's own past. The kernel reads 32 bits of
        the counter, which at full rate are full within seconds of waiting, and then it tells
        nothing more until root sets it to 0 (perfquery -R).
    Mitigation:
        Adaptive routing, rail-optimized placement of ranks, fewer flows to one receiver; on RoCE
        check that PFC and ECN are set alike on every hop, and DCQCN on the cards.
    """

    id = "LNK509"
    name = "RDMA congestion"
    short = "RDMA congested"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("warning", "error")
    needs_any = ("wait_ticks", "rx_packets")
    thresholds = {
        "warning_ratio": Threshold(
            0.10,
            "ratio",
            "ours; ticks of 8 bytes: NVIDIA, ibdiagnet manual 2.13, and ib-traffic-monitor#3 for cards",
        ),
        "error_ratio": Threshold(0.30, "ratio", "ours"),
        "marked_ratio": Threshold(0.01, "ratio", "ours: marks and notices over packets received"),
        "window_seconds": Threshold(30.0, "seconds", "ours"),
        "before_full_seconds": Threshold(
            5.0, "seconds", "ours: waiting a tenth of the time, 32 bits last 7 s at the rate of NDR"
        ),
        "full_seconds": Threshold(
            300.0, "seconds", "ours: for so long what was seen before the counter was full counts"
        ),
    }
    hold_seconds = 15.0
    explains = ("HW210", "HW211", "LNK510", "RUN430", "RUN436", "RUN441", "RUN443")
    next_step = "Compare with the other ports and nodes, and look at the switches on the path."

    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        waits = scene.history.port(port.device, port.port, "wait_ratio")
        full_for = self._full_for(port)
        wait = self._waited(port, waits, full_for)
        marked = self._marked(port, scene)
        if wait is None and marked is None and port.link_layer == "infiniband":
            return unavailable_field(subject, port, "wait_ratio")
        severity = self._severity(wait, marked, full_for)
        if severity is None:
            return Verdict(subject=subject, holds=False)
        if full_for is None:
            usual = waits.mean(_BASE_LINE_SECONDS)
            seen = Evidence(
                signal=_USUAL,
                label="wait over ten minutes",
                value=usual,
                unit="ratio",
                origin="inferred",
            )
        else:
            seen = Evidence(
                signal=_FULL_FOR, label="its counter is full for", value=full_for, unit="seconds"
            )
        limit = self.limit["warning_ratio"]
        marks = compared("marked_packets_ratio", marked, self.limit["marked_ratio"], "ratio")
        return Verdict(
            subject=subject,
            holds=True,
            severity=severity,
            confidence=self._confidence(marked, full_for),
            evidence=(
                compared("wait_ratio", wait, limit, "ratio", origin="inferred"),
                seen,
                *(() if marked is None else (marks,)),
                *count_evidence(port, "congestion"),
            ),
            next_step=_RESET if full_for is not None else None,
        )

    def _full_for(self, port: PortFrame) -> float | None:
        """For how long it has not been reported whether the port waits, if it was reported before that."""
        full = port.wait_full_monotonic_seconds
        age = None if full is None else port.monotonic_seconds - full
        return age if age is not None and age <= self.limit["full_seconds"] else None

    def _waited(self, port: PortFrame, waits: Series, full_for: float | None) -> float | None:
        """Over the window; of a counter that is full, at least so much over the last of what was seen."""
        if full_for is None:
            return waits.mean(self.limit["window_seconds"])
        before = waits.mean(full_for + self.limit["before_full_seconds"])
        known = [share for share in (before, port.wait_full_ratio) if share is not None]
        return max(known, default=None)

    def _confidence(self, marked: float | None, full_for: float | None) -> float:
        if (marked or 0.0) >= self.limit["marked_ratio"]:
            return 0.85
        return 0.7 if full_for is None else 0.6

    def _severity(
        self, wait: float | None, marked: float | None, full_for: float | None
    ) -> Severity | None:
        if wait is not None and wait >= self.limit["error_ratio"]:
            # What cannot be seen to go on is not said to be that bad.
            return "error" if full_for is None else "warning"
        if wait is not None and wait >= self.limit["warning_ratio"]:
            return "warning"
        return "warning" if marked is not None and marked >= self.limit["marked_ratio"] else None

    def _marked(self, port: PortFrame, scene: Scene) -> float | None:
        if not any(
            COUNTERS[name].kind == "congestion" for name in port.counters if name in COUNTERS
        ):
            return None  # InfiniBand has no marks
        window = self.limit["window_seconds"]
        marks = errors(port, scene.history, "congestion").grown(window)
        packets = scene.history.port(port.device, port.port, "rx_packets").grown(window)
        if marks is None or packets is None or packets < _FEWEST_PACKETS:
            return None
        return marks / packets
