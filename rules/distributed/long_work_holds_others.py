from __future__ import annotations

from ._long_work import LongWork


class LongWorkHoldsOthers(LongWork):
    """Long work holds the others.

    Meaning:
        One rank works while the others wait for it where that is expected: in a barrier,
        main_process_first, the rendezvous; or its own functions are named for work that is long by its
        nature: preprocess, download, tokenize, generate; or it waits for a lock, a pipe or a child, and
        whoever holds that works. It moves. It becomes a warning when nothing was seen to move on for
        ten minutes.
    Impact:
        All other ranks do nothing meanwhile; past the time limit of the process group (10 minutes by
        default) the job ends.
    Diagnosis:
        See whether bytes or steps move in it; its stack names the function: gputop stacks PID.
    Mitigation:
        Do that work once, before the job, and keep its result; or divide it among the ranks. Raise the
        time limit of the process group where it must take long.
    """

    id = "RUN427"
    name = "long work holds the others"
    short = "long work"
    label = "work"
    next_step = "Nothing is wrong while it moves: wait for it, or do that work before the job."
