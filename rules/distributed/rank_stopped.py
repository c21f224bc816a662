from __future__ import annotations

from ..rule import Scene
from ._blame import BlameRule
from ._standstill import Look, Standstill


class RankStopped(BlameRule):
    """Rank stopped.

    Meaning:
        The kernel has stopped all threads of a rank: by SIGSTOP or Ctrl-Z (state T), or because a
        debugger or tracer holds it (state t).
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
    cause = "stopped"
    next_step = "Let it go on: kill -CONT PID."

    def seconds(self, look: Look, still: Standstill) -> float:
        return max(look.seconds, super().seconds(look, still))

    def step_for(self, look: Look, scene: Scene) -> str | None:
        if look.rank.activity is not None and look.rank.activity.state == "t":
            return f"End the debugger that holds it: grep TracerPid /proc/{look.rank.pid}/status."
        return f"Let it go on: kill -CONT {look.rank.pid}."
