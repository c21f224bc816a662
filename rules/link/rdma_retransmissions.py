from __future__ import annotations

from ...probes.model.link_frames import PortFrame
from ...probes.model.port_counters import NOT_PROOF, of_kind
from ..finding import Severity, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, Threshold
from ._ports import PortRule, count_evidence, errors

_GIVEN_UP = frozenset(
    {
        "local_ack_timeout_err",
        "req_transport_retries_exceeded",
        "req_rnr_retries_exceeded",
        "max_retry_exceeded",
        "retry_exceeded_err",
        "retry_rnr_exceeded_err",
        "to_retransmits",
        "retrans_timeout_events",
        "unresponsive_remote_events",
    }
)
"""The answer did not come in time, or never."""
_OUT_OF_ORDER = frozenset({"out_of_sequence", "oos_drop_count", "out_of_seq_request"})


class RdmaRetransmissions(PortRule):
    """RDMA retransmissions.

    Meaning:
        Packets were lost on the way and sent again, within the last minute: the card counted
        sequence errors, time-outs of acknowledgements, or retries.
    Impact:
        RDMA expects a network that loses nothing: one lost packet costs a time-out of
        milliseconds, or all packets since. Retries that run out end the job with an error of NCCL.
    Diagnosis:
        Time-outs point to a peer or a link that is dead for a while; sequence errors to drops at a
        full queue (RoCE without working PFC or ECN), or to a bad cable (see signal errors).
        Out-of-sequence alone may be adaptive routing, which lets packets overtake each other.
    Mitigation:
        On RoCE check PFC, ECN and the traffic class (NCCL_IB_TC) on every hop. With time-outs find
        the peer that is slow or down; NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT only buy time.
    """

    id = "LNK510"
    name = "RDMA retransmissions"
    short = "RDMA resends"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("info", "warning", "error")
    thresholds = {
        "packets": Threshold(1.0, "errors", "ours; ByteRobust: seen twice in 5 min"),
        "window_seconds": Threshold(60.0, "seconds", "ours"),
        "sustained_seconds": Threshold(300.0, "seconds", "ByteRobust"),
    }
    hold_seconds = 0.0
    clear_seconds = 60.0
    explains = ("HW210", "RUN430", "RUN436")
    next_step = (
        "See which counter grows, then check drops, PFC and ECN on the switches of the path."
    )

    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        series = errors(port, scene.history, "retransmission")
        grown = series.grown(self.limit["window_seconds"])
        if grown is None:
            return Verdict(subject=subject, holds=None, unknown_because="counters: not read yet")
        counts = of_kind(port.counters_since_start, "retransmission")
        if grown < self.limit["packets"] or counts.keys() <= NOT_PROOF:
            return Verdict(subject=subject, holds=False)
        earlier = (series.grown(self.limit["sustained_seconds"]) or 0.0) - grown
        given_up = bool(counts.keys() & _GIVEN_UP)
        harmless = counts.keys() <= _OUT_OF_ORDER | NOT_PROOF
        severity: Severity = "error" if given_up and earlier > 0 else "warning"
        return Verdict(
            subject=subject,
            holds=True,
            severity="info" if harmless else severity,
            confidence=0.5 if harmless else 0.9,
            evidence=(
                compared("retransmissions_in_a_minute", grown, self.limit["packets"], "errors"),
                *count_evidence(port, "retransmission"),
            ),
            next_step="Out-of-sequence alone: see whether the fabric routes adaptively."
            if harmless
            else None,
        )
