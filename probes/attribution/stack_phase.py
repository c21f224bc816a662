"""From a Python stack to the phase it stands for, by the rows of ``frame_table``."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..model.rank_readings import Stack, StackFrameReading
from .function_phases import INNERMOST, PROBE_FOLDER, STARTUP, THIN, WHOLE, Row

_MARGIN_SIGMAS = 1.96
_LIBRARIES = frozenset(
    {"torch", "lightning", "pytorch_lightning", "lightning_fabric", "transformers", "accelerate"}
    | {"deepspeed", "megatron", "vllm", "sglang", "jax", "jaxlib", "flax", "optax", "orbax"}
    | {"safetensors", "numpy", "datasets", "tokenizers", "PIL", "torchvision", "torchdata", "ray"}
    | {"wandb", "tqdm", "mlflow", "tensorboard", "composer", "apex", "transformer_engine"}
)


class Said(NamedTuple):
    """What one stack tells."""

    phase: str
    doing: str


class Vote(NamedTuple):
    """What several stacks of one thread tell together."""

    phase: str
    doing: str
    share: float
    """Of the dumps."""
    margin: float
    """The true share lies within this of ``share``, at 95 %."""
    dumps: int


OTHER = Said("other", "runs Python")


def phase_of(stack: Stack) -> Said:
    """The phase of one whole stack; ``other`` where no row fits."""
    frames = [frame for frame in stack if _first(THIN, frame) is None]
    for place in range(len(frames) - 1, -1, -1):
        if _first(STARTUP, frames[place]) is not None:
            inside = _innermost(frames[:place])
            return inside or Said(STARTUP[0].phase, STARTUP[0].doing)
        row = _first(WHOLE, frames[place])
        if row is not None:
            return Said(row.phase, row.doing)
    return _innermost(frames) or OTHER


def vote(stacks: Iterable[Stack]) -> Vote | None:
    """The phase that most stacks tell, the later one of equals; ``None`` without any."""
    reported = [phase_of(stack) for stack in stacks]
    if not reported:
        return None
    counts = Counter(reversed([each.phase for each in reported]))
    phase, count = max(counts.items(), key=lambda item: item[1])
    doing = next(each.doing for each in reversed(reported) if each.phase == phase)
    share = count / len(reported)
    return Vote(phase, doing, share, margin(share, len(reported)), len(reported))


def margin(share: float, samples: int) -> float:
    """Half the width of Wilson's interval at 95 %: honest for few samples, and never zero."""
    squared = _MARGIN_SIGMAS**2
    spread = share * (1 - share) / samples + squared / (4 * samples**2)
    return _MARGIN_SIGMAS * math.sqrt(spread) / (1 + squared / samples)


def without_probe(stack: Stack) -> Stack:
    """The stack as it would be without gputop in the job: the probe wraps functions of torch."""
    return tuple(frame for frame in stack if not _is_probe(frame.file))


def own_frame(stack: Stack) -> StackFrameReading | None:
    """The innermost function that is the user's and no library's; where a stall is sought first."""
    return next((frame for frame in stack if is_own(frame)), None)


def is_own(frame: StackFrameReading) -> bool:
    """Whether it is the user's function, and no library's."""
    return _is_own(frame.file)


def place_of(frame: StackFrameReading) -> str:
    """A frame for people: ``load_batch (train.py:88)``."""
    line = "" if frame.line is None else f":{frame.line}"
    return f"{frame.name} ({frame.file}{line})"


def _innermost(frames: Sequence[StackFrameReading]) -> Said | None:
    for frame in frames:
        row = _first(INNERMOST, frame)
        if row is not None:
            return Said(row.phase, row.doing)
    return None


def _is_probe(file: str) -> bool:
    return f"/{PROBE_FOLDER}" in f"/{file}"


@lru_cache(maxsize=256)
def _is_own(file: str) -> bool:
    first = file.lstrip("/").split("/", 1)[0].removesuffix(".py")
    library = _is_probe(file) or first in _LIBRARIES or first in sys.stdlib_module_names
    return not (
        library or file.startswith("<") or "/site-packages/" in file or "/lib/python" in file
    )


def _first(rows: tuple[Row, ...], frame: StackFrameReading) -> Row | None:
    function = frame.name.rsplit(".", 1)[-1]
    if function == "<module>" and rows is not STARTUP:
        return None  # a library's file that is being imported does none of its work
    return _lookup(rows, frame.file, function)


@lru_cache(maxsize=4096)
def _lookup(rows: tuple[Row, ...], file: str, function: str) -> Row | None:
    path = f"/{file}"
    for row in rows:
        folder = row.file.endswith("/")
        fits = f"/{row.file}" in path if folder else path.endswith(f"/{row.file}")
        if fits and (row.functions == "*" or function in row.functions.split()):
            return row
    return None
