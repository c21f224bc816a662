from __future__ import annotations

from ...probes.model.link_frames import PortFrame
from ..finding import Evidence, Subject, Verdict, compared
from ..price_reasons import NOT_KNOWN_HOW_MUCH
from ..rule import Scene, Threshold
from ._ports import ACTIVE, PortRule, same_role, siblings

_GIGABIT = 1e9 / 8
_MODELS = {
    "MT4115": 100,
    "MT4117": 25,
    "MT4119": 100,
    "MT4121": 100,
    "MT4123": 200,
    "MT4125": 100,
    "MT4127": 50,
    "MT4129": 400,
    "MT4131": 800,
    "MT41686": 200,
    "MT41692": 400,
}
"""ConnectX-4 to 8 and BlueField-2 and 3, by what the driver calls them: Gbit/s of the best board."""


class RdmaRateDegraded(PortRule):
    """RDMA rate degraded.

    Meaning:
        An active port is trained to a lower rate than before, than its siblings, or than its model
        can do at best.
    Impact:
        Collectives across nodes run at the rate of the slowest port of all nodes: one port at a
        quarter of its lanes slows the whole job.
        A port with all its lanes that was never faster, and that sits elsewhere than its faster siblings,
        is cabled so, as one for storage is: that is no finding.
    Diagnosis:
        Fewer lanes than 4 point to a dirty or half-seated cable; a lower speed of all lanes to the
        cable's kind, the transceiver or the switch's port setting. mlxlink -d DEVICE shows what
        each end offers. If all ports of the node are alike, the board or the switch may not do
        more, and this is information.
    Mitigation:
        Reseat or replace the cable, then let the link train anew (ibportstate reset, or a restart
        of the port). Set the switch's port to automatic speed.
    """

    id = "LNK507"
    name = "RDMA rate degraded"
    short = "RDMA degraded"
    severity = "warning"
    unpriced = NOT_KNOWN_HOW_MUCH
    severities = ("info", "warning")
    needs = ("rate_bytes_per_second",)
    thresholds = {"shortfall_ratio": Threshold(0.05, "ratio", "Azure: any; rates come in steps")}
    hold_seconds = 10.0
    next_step = "Reseat or replace this port's cable, and compare with mlxlink at both ends."

    def judge_port(self, port: PortFrame, subject: Subject, scene: Scene) -> Verdict:
        rate = port.rate_bytes_per_second
        if port.state != ACTIVE or rate is None or port.virtual_function:
            return Verdict(subject=subject, holds=False)
        alike = [
            each for each in siblings(port, scene.frame) if each.rate_bytes_per_second is not None
        ]
        others = [
            other.rate_bytes_per_second or 0.0
            for other in alike
            if _falls_behind(port, other) or same_role(port, other, scene.frame)
        ]
        before = port.best_rate_bytes_per_second
        best = max([*others, before or 0.0])
        chip = _MODELS.get(port.model or "", 0) * _GIGABIT
        tolerated = 1.0 - self.limit["shortfall_ratio"]
        # What its siblings reach shows what board and switch can do; alone they are no measure of it.
        set_apart = len(others) < len(alike)
        if rate >= max(best, 0.0 if set_apart else chip) * tolerated:
            return Verdict(subject=subject, holds=False)
        fell_behind = rate < best * tolerated
        return Verdict(
            subject=subject,
            holds=True,
            severity="warning" if fell_behind else "info",
            confidence=0.95 if fell_behind else 0.5,
            evidence=(
                compared(
                    "rate_bytes_per_second",
                    rate,
                    best if fell_behind else chip,
                    "bytes_per_second",
                ),
                Evidence(
                    signal="trained_as", value=f"{port.lanes}X {port.speed}" if port.speed else None
                ),
                Evidence(signal="siblings", value=_reported(rate, others)),
                Evidence(
                    signal="best_bytes_per_second",
                    label="best before",
                    value=before,
                    unit="bytes_per_second",
                ),
            ),
            next_step=None
            if fell_behind
            else "All ports of this model are alike: compare with what board and switch should give.",
        )


def _falls_behind(port: PortFrame, other: PortFrame) -> bool:
    """Trained to fewer lanes than the other, or not faster than it by the cable: that no switch wants."""
    rate, best = port.rate_bytes_per_second, other.rate_bytes_per_second
    if rate is None or best is None or best <= rate:
        return True
    return port.lanes is not None and other.lanes is not None and port.lanes < other.lanes


def _reported(rate: float, others: list[float]) -> str:
    if not others:
        return "none"
    return "all alike" if all(other == rate for other in others) else "differ"
