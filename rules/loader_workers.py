"""Which processes below a rank load its data."""

from __future__ import annotations

from ..probes.model.frame import Frame
from ..probes.model.job_frames import RankFrame
from ..probes.model.process_frames import ProcessFrame

_OTHER_HELPERS = (
    "compile_worker",
    "resource_tracker",
    "wandb",
    "tensorboard",
    "nvidia-smi",
    "py-spy",
)
"""Words in the command line of children that load no data."""


def loader_workers(rank: RankFrame, frame: Frame) -> tuple[ProcessFrame, ...]:
    """The rank's DataLoader workers that live.

    PyTorch names them ``pt_data_worker`` where it can; where none has that name, every child counts
    that is not known to be something else.
    """
    if not rank.workers:
        return ()
    pids = set(rank.workers)
    children = [each for each in frame.processes if each.pid in pids and each.state != "Z"]
    named = tuple(process for process in children if process.name == "pt_data_worker")
    return named or tuple(process for process in children if not _other(process))


def _other(process: ProcessFrame) -> bool:
    words = " ".join(process.command or (process.name or "",))
    return any(helper in words for helper in _OTHER_HELPERS)
