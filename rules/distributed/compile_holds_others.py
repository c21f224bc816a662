from __future__ import annotations

from ._long_work import LongWork


class CompileHoldsOthers(LongWork):
    """Compilation holds the others.

    Meaning:
        One rank compiles (torch.compile, Inductor, XLA) while the others wait for it. That is no
        stall. It becomes a warning when it nears the time limit of the process group.
    Impact:
        The first steps, and those with new shapes, take minutes instead of a second.
    Diagnosis:
        See whether it ends. If it comes back in later steps, shapes change: TORCH_LOGS=recompiles.
    Mitigation:
        Share the compile cache between ranks and runs (TORCHINDUCTOR_CACHE_DIR), mark changing
        dimensions as dynamic, or pad to a few shapes.
    """

    id = "RUN425"
    name = "compilation holds the others"
    short = "compilation"
    label = "compile"
    next_step = "Nothing is wrong: wait for it, or keep the compile cache between runs."
