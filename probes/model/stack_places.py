"""Places in a stack: which are the user's own, and how they are called."""

from __future__ import annotations

import sys
from functools import lru_cache

from .rank_readings import Stack, StackFrameReading

PROBE_FOLDER = "probes/inprocess/"
"""Of our own code inside the job, below whatever gputop's own folder is called there."""
_LIBRARIES = frozenset(
    {"torch", "lightning", "pytorch_lightning", "lightning_fabric", "transformers", "accelerate"}
    | {"deepspeed", "megatron", "vllm", "sglang", "jax", "jaxlib", "flax", "optax", "orbax"}
    | {"safetensors", "numpy", "datasets", "tokenizers", "PIL", "torchvision", "torchdata", "ray"}
    | {"wandb", "tqdm", "mlflow", "tensorboard", "composer", "apex", "transformer_engine"}
)


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


@lru_cache(maxsize=256)
def _is_own(file: str) -> bool:
    first = file.lstrip("/").split("/", 1)[0].removesuffix(".py")
    library = is_probe(file) or first in _LIBRARIES or first in sys.stdlib_module_names
    return not (
        library or file.startswith("<") or "/site-packages/" in file or "/lib/python" in file
    )


def is_probe(file: str) -> bool:
    """Whether the file is of gputop's own probe, which wraps functions of torch."""
    return f"/{PROBE_FOLDER}" in f"/{file}"
