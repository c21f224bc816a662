from __future__ import annotations

from ...probes.model.link_frames import GONE, PortFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, Threshold
from ._ports import ACTIVE, PortRule

_CHANGES = "state_changes"


class RdmaPortDown(PortRule):
    """RDMA port down.

    Meaning:
        A port that has carried data is not active, is gone together with its device, or goes up
        and down again and again.
    Impact:
        Collectives over this port stop until a time-out of NCCL ends the job (23 minutes with
        defaults), or go on over fewer ports and are slower in proportion.
    Diagnosis:
        The physical state tells: polling, nothing is at the other end (cable, transceiver, switch
        port off); linkup while the state is init, the subnet manager does not answer; disabled,
        somebody switched it off. ibstat and the switch's log show the other end.
    Mitigation:
        Reseat or replace cable and transceiver, enable the switch's port, restart the subnet
        manager. To keep the job going without it, name the other ports in NCCL_IB_HCA.
    """

    id = "LNK506"
    name = "RDMA port down"
    severity = "error"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("warning", "error")
    needs = ("state",)
    thresholds = {
        "flaps": Threshold(3.0, "cycles", "gpud: three in 12 h; here within what is remembered"),
        "window_seconds": Threshold(600.0, "seconds", "ours"),
    }
    hold_seconds = 0.0
    clear_seconds = 30.0
    explains = ("HW210", "HW211", "LNK508", "LNK510", "LNK511", "RUN430", "RUN436")
    next_step = "Check cable, transceiver and switch port at both ends of this port."

    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        series = scene.history.port(port.device, port.port, "state_changes")
        cycles = (series.grown(self.limit["window_seconds"]) or 0.0) / 2
        down = port.used and port.state != ACTIVE
        flaps = cycles >= self.limit["flaps"]
        if not down and not flaps:
            return Verdict(subject=subject, holds=False)
        fell = port.state_monotonic_seconds is not None
        return Verdict(
            subject=subject,
            holds=True,
            # Down since before we came and used some time: perhaps on purpose.
            severity="error" if down and fell else "warning",
            confidence=0.95 if fell else 0.7,
            since_monotonic_seconds=port.state_monotonic_seconds if down else None,
            evidence=(
                Evidence(signal="state", value=port.state),
                Evidence(signal="physical_state", value=port.physical_state),
                *(
                    (compared(_CHANGES, cycles, self.limit["flaps"], "cycles"),)
                    if cycles >= 1.0
                    else ()
                ),
                Evidence(
                    signal="link_downed",
                    value=float(port.counters_since_start.get("link_downed", 0)),
                    unit="errors",
                ),
            ),
            next_step=_next_step(port, flaps),
        )


def _next_step(port: PortFrame, flaps: bool) -> str | None:
    if port.state == GONE:
        return "The device is gone: look in the kernel log for a reset of its driver or firmware."
    if port.state in ("init", "armed"):
        return "The cable is good, but no subnet manager has made the port active: check that one."
    if port.physical_state == "disabled":
        return "Somebody has switched this port off: enable it, or leave it out of NCCL_IB_HCA."
    if flaps and port.state == ACTIVE:
        return "It comes and goes: clean or replace cable and transceiver before it stays down."
    return None
