"""Work of one rank that takes long by its nature: the others wait, and nothing is wrong."""

from __future__ import annotations

from ..finding import Severity
from ..rule import Scene, Threshold
from ._blame import BlameRule
from ._standstill import Look, Standstill


class LongWork(BlameRule):
    """A rule about work for which the others wait. It is no stall, unless it takes too long."""

    severity = "info"
    severities = ("info", "warning")
    thresholds = {
        "warning_seconds": Threshold(
            600.0, "seconds", "PyTorch gives a collective up after 10 min"
        ),
    }

    def severity_of(self, seconds: float, still: Standstill) -> Severity:
        return "warning" if seconds >= self.limit["warning_seconds"] else "info"

    def step_for(self, look: Look, scene: Scene) -> str | None:
        return None
