"""Work of one rank that takes long by its nature: the others wait, and nothing is wrong while it goes on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..finding import Evidence, Severity
from ..rule import Scene, Threshold
from ..waits.charge import Charge
from ..waits.motion import long_limit
from ._charge import ChargeRule

LONGER = "It takes longer than expected and nothing is seen to move: look at its stack, gputop stacks PID."


class LongWork(ChargeRule):
    """A rule about work for which the others wait. It is no stall, unless it takes too long."""

    severity: ClassVar[Severity] = "info"
    severities: ClassVar[tuple[Severity, ...]] = ("info", "warning")
    thresholds = {
        "warning_seconds": Threshold(
            600.0, "seconds", "PyTorch gives a collective up after 10 min"
        ),
    }

    def severity_of(self, charge: Charge) -> Severity:
        return "warning" if self._is_overtime(charge) else "info"

    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        return LONGER.replace("PID", str(charge.rank.pid)) if self._is_overtime(charge) else None

    def _is_overtime(self, charge: Charge) -> bool:
        """Only without progress: what goes on may take its time."""
        return charge.seconds >= self._limit(charge) and charge.movement.motion != "progress"

    def _limit(self, charge: Charge) -> float:
        """By the job's own past, where it has one."""
        return long_limit(charge.rank, charge.movement.work, self.limit["warning_seconds"])

    def more_evidence(self, charge: Charge, scene: Scene) -> Iterable[Evidence]:
        yield from super().more_evidence(charge, scene)
        longest = charge.rank.longest_phases.get(charge.movement.work)
        if longest is not None:
            yield Evidence(
                signal="longest_before_seconds",
                label="longest before",
                value=longest,
                unit="seconds",
            )
