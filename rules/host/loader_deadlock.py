from __future__ import annotations

from ..distributed._blame import ALONE_SECONDS, BlameRule
from ..distributed._standstill import Look, Standstill
from ..rule import Scene


class LoaderDeadlock(BlameRule):
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
    cause = "loader"
    next_step = "Look at the stack of one of its workers: gputop stacks WORKER_PID."

    def seconds(self, look: Look, still: Standstill) -> float:
        if still.kept_waiting:
            return look.seconds
        return look.seconds if look.seconds >= ALONE_SECONDS else 0.0

    def step_for(self, look: Look, scene: Scene) -> str | None:
        if not look.rank.workers:
            return None
        return f"Look at the stack of one of its workers: gputop stacks {look.rank.workers[0]}."
