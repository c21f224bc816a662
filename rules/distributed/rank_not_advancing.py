from __future__ import annotations

from ..rule import Scene
from ..waits.charge import Charge
from ._charge import ChargeRule
from ._holders import step_of


class RankNotAdvancing(ChargeRule):
    """Rank not advancing.

    Meaning:
        One rank is somewhere else while the others wait for it in the backward, a collective or the
        rendezvous, and have neither run nor woken up for seconds, or their GPUs only spin: it sleeps,
        waits for a lock, looks for a file again and again, runs in a loop, or does much more work
        than they do. It becomes an error once they have waited for a minute. A rank for which nobody
        waits is reported after a minute in a lock, or without a step, if it was seen to move before.
    Impact:
        The whole job stands still. When the time limit of the process group is over (10 minutes by
        default) the others give up, and the job ends with an error that names the wrong rank.
    Diagnosis:
        Read where it is: its innermost own function, whether its main thread runs (a loop) or sleeps
        (and in which kernel function). Of a lock whoever holds it is named, where that may be seen: a
        process, a thread, or the rank with which it waits in a circle. Compare with the stacks of the
        others: gputop stacks PID.
    Mitigation:
        Mend that function. A sample that takes minutes to prepare, a retry without a limit and work
        done on one rank only are the usual ones. A lock file that nobody holds was left by a process
        that exited: remove it.
    """

    id = "RUN406"
    name = "rank not advancing"
    short = "not advancing"
    label = "own"
    next_step = "Look at its stack beside those of the others: gputop stacks PID."

    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        behind = step_of(charge, scene)
        if behind is not None:
            return behind
        if charge.rank.place is None:
            return None
        return f"Look at {charge.rank.place}: that is where it is. gputop stacks {charge.rank.pid} shows all of it."
