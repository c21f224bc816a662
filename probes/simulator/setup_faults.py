"""Scenarios in which nothing is broken: the job or the node is set up so that it is slower than it could be."""

from __future__ import annotations

import msgspec

from ..model.gpu_readings import GpuProcessReading, GpuReading
from ..model.process_readings import ProcessReading
from ..model.sample import Sample
from .activity import TRAINING, computing
from .job import worker_pids
from .link_faults import carrying, on_four_nodes
from .overlays import Fields, on_gpus, on_processes
from .rhythm import Pace, everyone
from .scenario import Scenario, Scene

_LEFT_OVER = {
    "CUDA_LAUNCH_BLOCKING": "1",
    "NCCL_DEBUG": "INFO",
    "NCCL_IB_HCA": "mlx5_7",
    "NCCL_P2P_DISABLE": "1",
}
"""Of a search for a fault, and of a machine with one card."""


def _with_settings(process: ProcessReading, scene: Scene) -> Fields:
    return {"environment": {**process.environment, **_LEFT_OVER}}


SLOW_SETTINGS = Scenario(
    name="slow-settings",
    summary="Variables of an old search for a fault: launches block, no peer-to-peer, one card for all.",
    finds=("ENV602",),
    severity="info",
    onset_seconds=-90.0,
    stages=(everyone(-90.0, Pace(forward=0.71, backward=1.33, comm=0.13)),),
    overlays=(
        on_four_nodes,
        carrying(14e9),
        on_processes(_with_settings, lambda process: "RANK" in process.environment),
    ),
)

_IN_FLOAT32 = computing(TRAINING, tensor_active=0.0, sm_active=0.93, dram_active=0.31, power=655.0)


def _float32(sample: Sample, scene: Scene) -> Sample:
    if scene.since < 0:
        return sample
    probes = tuple([msgspec.structs.replace(probe, precision="float32") for probe in sample.probes])
    return msgspec.structs.replace(sample, probes=probes)


NO_TENSOR_CORES = Scenario(
    name="no-tensor-cores",
    summary="The model computes in float32: the SMs are busy, and the tensor cores are idle.",
    finds=("ENV605",),
    severity="info",
    onset_seconds=-110.0,
    stages=(everyone(-110.0, Pace(forward=2.1, backward=4.2, work=_IN_FLOAT32)),),
    overlays=(_float32,),
)

_SHARED = 6
_CLIENT_MEMORY = int(1.1 * (1 << 30))


def _by_mps(gpu: GpuReading, scene: Scene) -> Fields:
    """Its loader workers decode on the GPU as well."""
    rank = [msgspec.structs.replace(on, kind="mps") for on in gpu.processes or ()]
    workers = [
        GpuProcessReading(pid=pid, kind="mps", memory_bytes=_CLIENT_MEMORY, sm_ratio=0.02)
        for pid in worker_pids(_SHARED)[:3]
    ]
    used = (gpu.memory_used_bytes or 0) + _CLIENT_MEMORY * len(workers)
    return {"processes": (*rank, *workers), "memory_used_bytes": used}


MPS_SHARED = Scenario(
    name="mps-shared",
    summary="Rank 6 and its loader workers share GPU 6 as clients of one MPS server.",
    finds=("ENV604",),
    severity="info",
    about="GPU 6",
    onset_seconds=-90.0,
    overlays=(on_gpus(_by_mps, _SHARED),),
)
