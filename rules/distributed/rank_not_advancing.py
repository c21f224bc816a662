from __future__ import annotations

from ..rule import Scene
from ._blame import BlameRule
from ._standstill import Look


class RankNotAdvancing(BlameRule):
    """Rank not advancing.

    Meaning:
        One rank is somewhere else while the others wait for it in the backward or a collective, and
        have neither run nor woken up for seconds, or their GPUs only spin: it sleeps, runs in a loop,
        or does much more work than they do. It becomes an error once they have waited for a minute.
    Impact:
        The whole job stands still. When the time limit of the process group is over (10 minutes by
        default) the others give up, and the job ends with an error that names the wrong rank.
    Diagnosis:
        Read where it is: its innermost own function, whether its main thread runs (a loop) or sleeps
        (and in which kernel function). Compare with the stacks of the others: gputop stacks PID.
    Mitigation:
        Mend that function. A sample that takes minutes to prepare, a retry without a limit and work
        done on one rank only are the usual ones.
    """

    id = "RUN406"
    name = "rank not advancing"
    short = "not advancing"
    cause = "own"
    next_step = "Look at its stack beside those of the others: gputop stacks PID."

    def step_for(self, look: Look, scene: Scene) -> str | None:
        if look.rank.place is None:
            return None
        return f"Look at {look.rank.place}: that is where it is. gputop stacks {look.rank.pid} shows all of it."
