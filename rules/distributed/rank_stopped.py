from __future__ import annotations

from ..rule import Scene
from ..waits.build import is_loading
from ..waits.charge import Charge
from ._charge import ChargeRule


class RankStopped(ChargeRule):
    """Rank stopped.

    Meaning:
        The kernel has stopped all threads of a rank: by SIGSTOP or Ctrl-Z (state T), or because a
        debugger or tracer holds it (state t). Where a child of a rank is stopped, and the rank waits, that
        child is what it waits for.
    Impact:
        It does nothing until somebody lets it go on, and at the next collective its whole job waits.
    Diagnosis:
        State T: somebody sent SIGSTOP, or a tool that stops processes was killed while it looked.
        State t: TracerPid in /proc/PID/status names the debugger.
    Mitigation:
        Let it go on with kill -CONT PID, or end the debugger that holds it.
    """

    id = "RUN423"
    name = "rank stopped"
    label = "stopped"
    next_step = "Let it go on: kill -CONT PID."

    def name_of(self, charge: Charge) -> str | None:
        return "child stopped" if charge.cause.culprits[0].kind == "child" else None

    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        culprit = charge.cause.culprits[0]
        if culprit.kind == "child":
            whom = "loader worker" if is_loading(charge.rank) else "child"
            return f"Its {whom} {culprit.id} is stopped; let it go on: kill -CONT {culprit.id}."
        if charge.rank.activity is not None and charge.rank.activity.state == "t":
            return f"End the debugger that holds it: grep TracerPid /proc/{charge.rank.pid}/status."
        return f"Let it go on: kill -CONT {charge.rank.pid}."
