from __future__ import annotations

from ._long_work import LongWork


class CheckpointHoldsOthers(LongWork):
    """Checkpoint holds the others.

    Meaning:
        One rank writes a checkpoint while the others wait for it. That is no stall. It becomes a
        warning when it nears the time limit of the process group.
    Impact:
        All GPUs but one do nothing meanwhile; past the limit (10 minutes by default) the job ends.
    Diagnosis:
        Compare the rank's write rate with what the file system can do; see how large the file is.
    Mitigation:
        Save sharded and asynchronously (torch.distributed.checkpoint.async_save), more rarely, or to
        a local disk first. Raise the time limit of the process group where a save must take long.
    """

    id = "RUN419"
    name = "checkpoint holds the others"
    short = "checkpoint"
    label = "checkpoint"
    next_step = "Nothing is wrong: wait for it, or save sharded and asynchronously."
