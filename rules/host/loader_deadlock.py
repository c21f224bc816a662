from __future__ import annotations

from ..distributed._charge import ChargeRule
from ..rule import Scene
from ..waits.charge import Charge


class LoaderDeadlock(ChargeRule):
    """Loader deadlock.

    Meaning:
        A rank waits for its DataLoader workers, and none of them has used any CPU: they wait too, for
        a lock, for each other or for a file, and no batch will come.
    Impact:
        The rank stands still for ever, silently, and at the next collective its whole job.
    Diagnosis:
        Look at the workers' stacks (gputop stacks with the worker's pid): a lock that was held when
        they were forked, a library with threads of its own (OpenCV, tokenizers), or a full /dev/shm.
        Workers that wait in D or in a pipe may have a slow file instead.
    Mitigation:
        Start workers with multiprocessing_context="spawn" or "forkserver", set cv2.setNumThreads(0)
        and TOKENIZERS_PARALLELISM=false, give DataLoader a timeout so that it raises.
    """

    id = "HST115"
    name = "loader deadlock"
    short = "loader stuck"
    label = "loader"
    next_step = "Look at the stack of one of its workers: gputop stacks WORKER_PID."

    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        worker = charge.cause.culprits[0].id
        return f"Look at the stack of one of its workers: gputop stacks {worker}."
