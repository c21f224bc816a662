from __future__ import annotations

from ._long_work import LongWork


class EvaluationHoldsOthers(LongWork):
    """Evaluation holds the others.

    Meaning:
        One rank evaluates while the others wait for it. That is no stall. It becomes a warning when
        it nears the time limit of the process group.
    Impact:
        All GPUs but one do nothing meanwhile, in each evaluation of the run.
    Diagnosis:
        See how long it takes, and whether the validation set is divided among the ranks.
    Mitigation:
        Divide the validation set among all ranks, or evaluate in a job of its own.
    """

    id = "RUN421"
    name = "evaluation holds the others"
    short = "evaluation"
    label = "evaluation"
    next_step = "Nothing is wrong: wait for it, or divide the validation set among the ranks."
