"""What variables of a job switch off that makes it fast, or on that is for debugging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ..rule import is_multi_node

Variables = Mapping[str, str]
Line = tuple[str, str]
"""Setting, and what it does here."""

_TRUE = frozenset({"1", "true", "yes", "on", "y"})
_FALSE = frozenset({"0", "false", "no", "off", "n"})
_LOUD = frozenset({"INFO", "TRACE"})
_CROWDED_RATIO = 0.20
"""CPU pressure from which the number of threads matters (ours)."""
_NO_GPU_DIRECT = frozenset({"LOC", "0"})
_SMALL_BUFFER_BYTES = 1 << 20
"""NCCL's own is 4 MiB."""
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def audit(variables: Variables, job: JobFrame, frame: Frame) -> Iterator[Line]:
    """Those that concern the job on this node as it is."""
    yield from _debugging(variables)
    yield from _computing(variables)
    if (job.world_size or len(job.ranks)) > 1:
        yield from _collectives(variables, job, frame)


def _is_on(variables: Variables, name: str) -> bool:
    return variables.get(name, "").strip().lower() in _TRUE


def _is_off(variables: Variables, name: str) -> bool:
    return variables.get(name, "").strip().lower() in _FALSE


def _debugging(variables: Variables) -> Iterator[Line]:
    if _is_on(variables, "CUDA_LAUNCH_BLOCKING"):
        yield "CUDA_LAUNCH_BLOCKING", "the host waits for each kernel"
    if variables.get("TORCH_DISTRIBUTED_DEBUG", "").upper() == "DETAIL":
        yield "TORCH_DISTRIBUTED_DEBUG=DETAIL", "each collective is checked on all ranks first"
    if variables.get("NCCL_DEBUG", "").upper() in _LOUD:
        yield f"NCCL_DEBUG={variables['NCCL_DEBUG']}", "NCCL writes a log"
    if _is_on(variables, "NCCL_CHECK_POINTERS"):
        yield "NCCL_CHECK_POINTERS", "NCCL checks each buffer of each collective"
    for name in ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"):
        if _is_on(variables, name):
            yield name, "the host waits for each collective"


def _computing(variables: Variables) -> Iterator[Line]:
    if variables.get("CUBLAS_WORKSPACE_CONFIG"):
        yield "CUBLAS_WORKSPACE_CONFIG", "deterministic kernels, which may be slower"
    if _is_off(variables, "NVIDIA_TF32_OVERRIDE"):
        yield "NVIDIA_TF32_OVERRIDE=0", "float32 matrix products use no tensor cores"
    if _is_on(variables, "PYTORCH_NO_CUDA_MEMORY_CACHING"):
        yield "PYTORCH_NO_CUDA_MEMORY_CACHING", "each tensor is allocated by the driver"
    if _is_on(variables, "CUDA_CACHE_DISABLE"):
        yield "CUDA_CACHE_DISABLE", "kernels are compiled anew at each start"


def _collectives(variables: Variables, job: JobFrame, frame: Frame) -> Iterator[Line]:
    rdma = is_multi_node(job) and any(port.state == "active" for port in frame.ports)
    if _is_on(variables, "NCCL_P2P_DISABLE"):
        yield "NCCL_P2P_DISABLE", "GPUs of this node talk through host memory"
    if variables.get("NCCL_P2P_LEVEL", "").upper() in _NO_GPU_DIRECT:
        yield "NCCL_P2P_LEVEL=LOC", "GPUs of this node talk through host memory"
    if _is_on(variables, "NCCL_SHM_DISABLE"):
        yield "NCCL_SHM_DISABLE", "ranks of this node talk through the network"
    if rdma and _is_on(variables, "NCCL_IB_DISABLE"):
        yield "NCCL_IB_DISABLE", "nodes talk over Ethernet though RDMA ports are up"
    if rdma and variables.get("NCCL_NET", "").lower() == "socket":
        yield "NCCL_NET=Socket", "nodes talk over TCP though RDMA ports are up"
    if is_multi_node(job) and variables.get("NCCL_NET_GDR_LEVEL", "").upper() in _NO_GPU_DIRECT:
        yield "NCCL_NET_GDR_LEVEL", "what GPUs send to other nodes goes through host memory"
    for name in ("NCCL_ALGO", "NCCL_PROTO"):
        if value := variables.get(name):
            yield f"{name}={value}", "NCCL may choose no other, also where that is faster"
    buffer = variables.get("NCCL_BUFFSIZE", "")
    if buffer.isdecimal() and int(buffer) < _SMALL_BUFFER_BYTES:
        yield f"NCCL_BUFFSIZE={buffer}", "large messages are cut small; NCCL's own is 4 MiB"
    if _is_off(variables, "NCCL_NVLS_ENABLE") and any(gpu.fabric_state for gpu in frame.gpus):
        yield "NCCL_NVLS_ENABLE=0", "the NVSwitches do not add up what they carry (NVLink SHARP)"


def threads(variables: Variables, job: JobFrame, frame: Frame) -> Iterator[Line]:
    """Where cores are short."""
    waits = frame.host.pressure_cpu_ratio if frame.host else None
    crowded = len(job.ranks) > 1 and (waits or 0.0) >= _CROWDED_RATIO
    if crowded and not any(name in variables for name in _THREADS):
        yield "OMP_NUM_THREADS is not set", "each rank may start a thread per core"
