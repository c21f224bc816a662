"""Whether another thread had the interpreter while the main one of a rank wanted it, at the last dump."""

from __future__ import annotations

from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.rank_readings import StackFrameReading
from ...probes.model.stack_places import is_own
from .other_threads import gil_owner

FRESH_SECONDS = 2.5
"""A dump is taken every two seconds at most; an older one is counted already."""
_PYTHON_OF_TORCH = ("torch/nn/", "torch/optim/", "torch/utils/")
_WAITS_IN_TORCH = ("torch/nn/parallel/", "torch/utils/data/")


def interpreter_taken(rank: RankFrame, frame: Frame) -> bool | None:
    """``None``: no dump of now tells.

    Whoever waits inside a call of another kind (a queue, a collective, the backward) has given the
    interpreter away himself, and is not held up by who takes it.
    """
    if not frame.stacks or rank.phase_dumps is None:
        return None
    reading = frame.stacks_of(rank)
    if reading is None or frame.monotonic_seconds - reading.monotonic_seconds > FRESH_SECONDS:
        return None
    main = next((each for each in reading.threads if each.main), None)
    if main is None or not main.frames:
        return None
    owner = gil_owner(rank, frame)
    if owner is None or owner.active is False or main.owns_gil or main.active:
        return False
    return _computes(main.frames[0])


def _computes(innermost: StackFrameReading) -> bool:
    file = innermost.file
    waits = file.startswith(_WAITS_IN_TORCH)
    return is_own(innermost) or (file.startswith(_PYTHON_OF_TORCH) and not waits)
