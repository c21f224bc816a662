from __future__ import annotations

from ...probes.model.link_frames import PortFrame
from ..finding import Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, Threshold
from ._ports import PortRule, count_evidence, errors

_SUSTAINED_SHARE = 0.8


class RdmaSignalErrors(PortRule):
    """RDMA signal errors.

    Meaning:
        The port receives damaged symbols or packets, or its link has had to recover or was lost,
        within the last minute.
    Impact:
        What is damaged is sent again, which slows this port and everybody who waits for it. Errors
        that go on announce a link that goes down.
    Diagnosis:
        See which counter grows: symbol errors alone mean a poor signal (cable, transceiver, dirt);
        receive errors that the other end's transmit side shares point there; a counter that stands
        at its highest value hides the rest until it is reset (perfquery -R). mlxlink -d DEVICE -c
        shows the bit error rate and the power of the light.
    Mitigation:
        Clean and reseat the connectors, then replace cable or transceiver, first at this end.
    """

    id = "LNK508"
    name = "RDMA signal errors"
    short = "RDMA errors"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("warning", "error")
    thresholds = {
        "errors": Threshold(1.0, "errors", "ours: none in a minute is healthy"),
        "window_seconds": Threshold(60.0, "seconds", "ours"),
        "sustained_seconds": Threshold(300.0, "seconds", "ours: then it is an error"),
    }
    hold_seconds = 0.0
    clear_seconds = 60.0
    explains = ("LNK510",)
    next_step = "Clean and reseat this port's cable, and replace it if the errors go on."

    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        series = errors(port, scene.history, "signal")
        grown = series.grown(self.limit["window_seconds"])
        if grown is None:
            return Verdict(subject=subject, holds=None, unknown_because="counters: not read yet")
        if grown < self.limit["errors"]:
            return Verdict(subject=subject, holds=False)
        long = self.limit["sustained_seconds"]
        earlier = (series.grown(long) or 0.0) - grown
        sustained = earlier > 0 and series.covered(long) >= _SUSTAINED_SHARE * long
        return Verdict(
            subject=subject,
            holds=True,
            severity="error" if sustained else "warning",
            evidence=(
                compared("errors_in_a_minute", grown, self.limit["errors"], "errors"),
                *count_evidence(port, "signal"),
            ),
        )
