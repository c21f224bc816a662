"""Which GPU a rank works on, where no list of the driver's names it: its open files and its variables.

CUDA numbers devices by itself: by its guess of speed, unless ``CUDA_DEVICE_ORDER`` says by bus. Among
GPUs of one model that is the order of the bus as well; among different ones nobody can tell from outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..model.gpu_readings import GpuReading
from ..model.process_readings import ProcessReading
from ..model.vocabulary import AssignedBy

NOT_LISTED = "the driver lists it on no GPU"
_NOT_OPEN = "the driver lists it on no GPU, and it has none open"
_UNSEEN = "it has a GPU open that is not seen here"
_ORDER = (
    "CUDA numbers GPUs of different models by its guess of their speed: "
    "only CUDA_DEVICE_ORDER=PCI_BUS_ID would tell"
)
_MIG = "with MIG, numbers in CUDA_VISIBLE_DEVICES do not tell which GPU"
_NO_LOCAL_RANK = "it sees several GPUs, and no variable gives its local rank"
_NONE_VISIBLE = "CUDA_VISIBLE_DEVICES shows it no GPU that is here"
_DISAGREE = "its open files and CUDA_VISIBLE_DEVICES tell different GPUs"
_NUMBER = r"[0-9]{1,4}"


class Choice(NamedTuple):
    """A GPU and who reported; or why none can be reported."""

    gpu: GpuReading | None
    assigned_by: AssignedBy | None = None
    reason: str = ""


def choose_gpu(
    process: ProcessReading, local_rank: int | None, gpus: Sequence[GpuReading]
) -> Choice:
    """The GPU of a rank that the driver lists nowhere."""
    minors = process.gpu_minors
    if not gpus or (minors is None and "gpu_minors" not in process.missing):
        return Choice(None, reason=NOT_LISTED)
    if minors == ():
        return Choice(None, reason=_NOT_OPEN)
    opened = [gpu for gpu in gpus if gpu.minor_number in (minors or ())]
    if minors is not None and not opened:
        return Choice(None, reason=_UNSEEN)
    if len(opened) == 1:
        return Choice(opened[0], "open files")
    named = gpu_by_environment(process, local_rank, gpus)
    if named.gpu is not None and opened and named.gpu not in opened:
        return Choice(None, reason=_DISAGREE)
    return named


def gpu_by_environment(
    process: ProcessReading, local_rank: int | None, gpus: Sequence[GpuReading]
) -> Choice:
    """The GPU that the rank takes by custom: of those visible to it the one of its local rank."""
    visible = visible_gpus(process, gpus)
    if isinstance(visible, str):
        return Choice(None, reason=visible)
    if len(visible) == 1:
        return Choice(visible[0], "environment")
    if local_rank is None:
        return Choice(None, reason=_NO_LOCAL_RANK)
    if local_rank >= len(visible):
        return Choice(None, reason=_NONE_VISIBLE)
    return Choice(visible[local_rank], "environment")


def visible_gpus(process: ProcessReading, gpus: Sequence[GpuReading]) -> list[GpuReading] | str:
    """The GPUs that CUDA shows a process, in CUDA's order; or why that cannot be reported."""
    pool = _allowed(process, gpus)
    numbered = _numbered(process.environment, pool, gpus)
    words = process.environment.get("CUDA_VISIBLE_DEVICES")
    if words is None:
        return numbered if isinstance(numbered, str) else list(numbered.values())
    found: list[GpuReading] = []
    for word in (part.strip() for part in words.split(",")):
        if not re.fullmatch(_NUMBER, word):
            gpu = _named(word, pool)
        elif isinstance(numbered, str):
            return numbered
        else:
            gpu = numbered.get(int(word))
        if gpu is None:
            break  # CUDA ends at the first that it does not know
        found.append(gpu)
    return found or _NONE_VISIBLE


def _named(word: str, gpus: Sequence[GpuReading]) -> GpuReading | None:
    """By uuid, of which the beginning is enough where only one GPU has it; or by that of a MIG part."""
    if word.startswith("MIG-GPU-"):  # the older form: MIG-GPU-UUID/INSTANCE/INSTANCE
        word = word.removeprefix("MIG-").partition("/")[0]
    if word.startswith("MIG-"):
        fitting = [gpu for gpu in gpus if any(mig.uuid == word for mig in gpu.migs)]
    elif word.startswith("GPU-") and word != "GPU-":
        fitting = [gpu for gpu in gpus if (gpu.uuid or "").startswith(word)]
    else:
        return None
    return fitting[0] if len(fitting) == 1 else None


def _numbered(
    environment: Mapping[str, str], pool: Sequence[GpuReading], gpus: Sequence[GpuReading]
) -> dict[int, GpuReading] | str:
    """By the numbers that CUDA gives them."""
    if any(gpu.mig_mode for gpu in pool):
        return _MIG
    by_bus = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if not by_bus and len({gpu.name for gpu in pool}) > 1:
        return _ORDER
    # NVML numbers them by bus as well. One that has not been read yet keeps its number.
    ordered = sorted(pool, key=lambda gpu: gpu.index)
    if len(pool) == len(gpus):
        return {gpu.index: gpu for gpu in ordered}
    return dict(enumerate(ordered))


def _allowed(process: ProcessReading, gpus: Sequence[GpuReading]) -> Sequence[GpuReading]:
    """The GPUs that its container or Slurm step has at all, where that is fewer than are seen here."""
    environment = process.environment
    words = environment.get("NVIDIA_VISIBLE_DEVICES", "").split(",")
    if all(word.startswith("GPU-") for word in words):
        return [gpu for gpu in gpus if gpu.uuid in words] or gpus
    if len(process.namespace_pids) > 1 and all(re.fullmatch(_NUMBER, word) for word in words):
        return [gpu for gpu in gpus if str(gpu.index) in words] or gpus
    given = environment.get("SLURM_STEP_GPUS") or environment.get("SLURM_JOB_GPUS") or ""
    if given and given != environment.get("CUDA_VISIBLE_DEVICES"):
        # Where Slurm confines devices, CUDA counts within what the step was given.
        numbers = given.split(",")
        confined = [gpu for gpu in gpus if str(gpu.minor_number) in numbers]
        return confined if len(confined) == len(numbers) else gpus
    return gpus
