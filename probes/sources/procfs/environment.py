"""The variables of a job that are read at all; all others stay where they are."""

from __future__ import annotations

from ...inprocess.rank_variables import VARIABLES
from .redaction import is_secret_name, mask_text

ALLOWED = frozenset(
    VARIABLES
    | {"LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "RAY_JOB_ID"}
    | {"ROLE_RANK", "ROLE_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}
    | {"HOSTNAME", "POD_NAME", "POD_NAMESPACE"}
    | {"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}
    | {"NVIDIA_TF32_OVERRIDE", "NVIDIA_DRIVER_CAPABILITIES", "TOKENIZERS_PARALLELISM"}
    | {"GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_BLOCKTIME", "OPENBLAS_NUM_THREADS"}
    | {"NUMEXPR_NUM_THREADS", "MALLOC_ARENA_MAX", "MALLOC_CONF", "LD_PRELOAD", "PYTHONFAULTHANDLER"}
    | {"ACCELERATE_MIXED_PRECISION", "ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"}
)
"""Exact names. With `ALLOWED_PREFIXES` this is the whole of what can be read."""

ALLOWED_PREFIXES = (
    "NCCL_",
    "CUDA_",
    "CUBLAS_",
    "CUDNN_",
    "TORCH_",
    "PYTORCH_",
    "TORCHELASTIC_",
    "TORCHINDUCTOR_",
    "OMP_",
    "MKL_",
    "SLURM_",
    "OMPI_COMM_WORLD_",
    "PMI_",
    "PMIX_RANK",
    "GLOO_",
    "UCX_",
    "FI_",
)

MAX_VALUE_CHARS = 512
MAX_VARIABLES = 256
"""Of one process: a hostile environment must not swell the samples."""
_CUT = "…"
_BULKY = frozenset({"SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_STEP_NODELIST"})
_BULKY_CHARS = 128


def is_allowed(name: str) -> bool:
    """Whether a variable of this name is read."""
    listed = name in ALLOWED or name.startswith(ALLOWED_PREFIXES)
    return listed and not is_secret_name(name)


def parse_environment(data: bytes) -> dict[str, str]:
    """The allowed variables among the bytes of ``/proc/PID/environ``; of doubles the first, as libc."""
    found: dict[str, str] = {}
    for entry in data.split(b"\0"):
        raw_name, equals, raw_value = entry.partition(b"=")
        if not equals or len(raw_name) > MAX_VALUE_CHARS:
            continue
        name = raw_name.decode("utf-8", "replace")
        if name in found or not is_allowed(name):
            continue
        found[name] = _shortened(name, mask_text(raw_value.decode("utf-8", "replace")))
        if len(found) == MAX_VARIABLES:
            break
    return found


def _shortened(name: str, value: str) -> str:
    limit = _BULKY_CHARS if name in _BULKY else MAX_VALUE_CHARS
    return value if len(value) <= limit else value[: limit - 1] + _CUT
