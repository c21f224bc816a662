"""Which rule speaks of a rank that keeps the others waiting: each has its own cause, and one finding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Literal, NamedTuple

from ..finding import Evidence, Severity, Verdict
from ..rule import Rule, Scene
from ._standstill import (
    ERROR_SECONDS,
    HOLD_SECONDS,
    SHORTEST_SECONDS,
    Look,
    Standstill,
    evidence_of,
    rank_subject,
    standstill,
    waits_for_loader,
    workers_asleep,
)

Cause = Literal[
    "stopped", "loader", "read", "compile", "checkpoint", "evaluation", "startup", "own"
]
ALONE_SECONDS = 60.0
"""So long, where no other rank waits for it: then there is one witness less."""


def cause_of(look: Look, scene: Scene) -> Cause | None:
    """Why a rank does not come to meet the others; ``None`` where it makes progress or only waits."""
    match look.stance:
        case "stopped":
            return "stopped"
        case "works":
            return _WORK.get(look.rank.phase or "")
        case "still":
            return _why_still(look, scene)
        case "busy" | "moves":
            return "own"
        case _:
            return None


_WORK: dict[str, Cause] = {
    "compile": "compile",
    "checkpoint": "checkpoint",
    "eval": "evaluation",
    "startup": "startup",
}


def _why_still(look: Look, scene: Scene) -> Cause:
    asleep, workers = workers_asleep(look.rank, scene, SHORTEST_SECONDS)
    if waits_for_loader(look.rank):
        return "loader" if workers and asleep == workers else "own"
    activity = look.rank.activity
    waits = activity.wait if activity else None
    return "read" if waits in ("pipe", "socket", "disk") or _in_d(look) else "own"


def _in_d(look: Look) -> bool:
    return look.rank.activity is not None and look.rank.activity.state == "D"


class _Charge(NamedTuple):
    """A rank that does not wait for others, why, and the verdict of the rules about other causes."""

    look: Look
    still: Standstill
    cause: Cause | None
    dropped: Verdict


def _charges(scene: Scene) -> list[_Charge]:
    return [
        _Charge(
            look=look,
            still=still,
            cause=cause_of(look, scene),
            dropped=Verdict(subject=rank_subject(job, look.rank), holds=False),
        )
        for job in scene.frame.running
        for still in (standstill(job, scene),)
        for look in still.others
    ]


class BlameRule(Rule):
    """A rule about the rank that keeps the others of its job waiting for one kind of cause."""

    cause: Cause
    severity: ClassVar[Severity] = "warning"
    severities: ClassVar[tuple[Severity, ...]] = ("warning", "error")
    hold_seconds = HOLD_SECONDS
    clear_seconds = 3.0
    thresholds = {"error_seconds": ERROR_SECONDS}
    explains = ("RUN405",)
    job_wide = True

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for charge in scene.once(_charges):
            yield self._judge_rank(charge, scene) if charge.cause == self.cause else charge.dropped

    def _judge_rank(self, charge: _Charge, scene: Scene) -> Verdict:
        look, still = charge.look, charge.still
        seconds = self.seconds(look, still)
        if seconds < SHORTEST_SECONDS:
            return charge.dropped
        return Verdict(
            subject=charge.dropped.subject,
            holds=True,
            severity=self.severity_of(seconds, still),
            confidence=1.0 if look.rank.phase_source != "inferred" else 0.7,
            evidence=(*evidence_of(look, still), *self.more_evidence(look, scene)),
            since_monotonic_seconds=scene.frame.monotonic_seconds - seconds,
            next_step=self.step_for(look, scene),
        )

    def seconds(self, look: Look, still: Standstill) -> float:
        """For how long it has kept others waiting."""
        return still.seconds if still.kept_waiting else 0.0

    def severity_of(self, seconds: float, still: Standstill) -> Severity:
        """An error needs both witnesses for long."""
        both = still.kept_waiting and seconds >= self.limit["error_seconds"]
        return "error" if both else "warning"

    def more_evidence(self, look: Look, scene: Scene) -> Iterable[Evidence]:
        """What proves this cause in particular."""
        return ()

    @abstractmethod
    def step_for(self, look: Look, scene: Scene) -> str | None:
        """What to do now, where it can be more precise than the rule's."""
