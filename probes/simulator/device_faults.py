"""Scenarios in which a GPU, its link or its driver fails."""

from __future__ import annotations

import msgspec

from ..model.gpu_readings import GpuReading, gpu_source_name
from ..model.kernel_log import KernelLogReading
from ..model.missing_reasons import LOST
from ..model.process_readings import ProcessReading
from ..model.sample import Sample, SourceStatus
from .activity import SPINNING, TRAINING, Activity
from .gpus import gpu_bus_id
from .job import rank_pid
from .overlays import Fields, in_kernel_log, on_gpus, on_processes, on_source, with_xid
from .rhythm import FOR_EVER, Pace, only
from .scenario import Scenario, Scene

_IDENTITY = frozenset(
    {
        "index",
        "uuid",
        "name",
        "serial",
        "pci_bus_id",
        "minor_number",
        "architecture",
        "compute_capability",
        "numa_node",
        "monotonic_seconds",
    }
)
_HEADLINE = (
    "utilization_ratio",
    "memory_used_bytes",
    "power_watts",
    "temperature_celsius",
    "sm_clock_hertz",
    "processes",
)

_BLANK = GpuReading(
    index=0, monotonic_seconds=0.0, lost=True, missing=dict.fromkeys(_HEADLINE, LOST)
)
_NOTHING: Fields = {
    field: getattr(_BLANK, field)
    for field in GpuReading.__struct_fields__
    if field not in _IDENTITY
}


def _lost(gpu: GpuReading, scene: Scene) -> Fields:
    """What the driver still tells of a lost GPU is who it was."""
    return _NOTHING


def _stuck_in_driver(process: ProcessReading, scene: Scene) -> Fields:
    return {"state": "D", "wait_channel": "rwsem_down_write_slowpath"}


_DEAD = Activity(
    power=0.0, sm_clock=0.0, pcie_rx=0.0, pcie_tx=0.0, rank_cpu=0.0, worker_cpu=0.0, read=0.0
)
_HANGS = {
    **TRAINING,
    SPINNING: TRAINING[SPINNING]._replace(worker_cpu=0.01, read=0.0),
}

GPU_LOST = Scenario(
    name="gpu-lost",
    summary="GPU 3 falls off the bus; its rank hangs in backward and the others spin for ever.",
    finds=("HW206", "HW208", "HW211"),
    severity="error",
    about="GPU 3",
    onset_seconds=-60.0,
    stages=(
        only(
            -60.0,
            3,
            Pace(backward=FOR_EVER, work={**TRAINING, "backward": _DEAD}),
            Pace(work=_HANGS),
        ),
    ),
    overlays=(
        on_gpus(_lost, 3),
        on_processes(_stuck_in_driver, lambda process: process.pid == rank_pid(3)),
        with_xid(79, 3),
    ),
)

_WEDGED = 7


def _asked_in_vain(source: SourceStatus, scene: Scene) -> Fields:
    return {
        "status": "stale",
        "reason": f"no answer for {scene.since:.0f} s",
        "monotonic_seconds": scene.zero_monotonic_seconds + scene.onset_seconds,
        "busy_seconds": scene.since,
    }


def _sent_again(sample: Sample, scene: Scene) -> Sample:
    if scene.since < 0:
        return sample
    last = scene.gpu_at(_WEDGED, scene.onset_seconds)
    gpus = tuple([last if gpu.index == _WEDGED else gpu for gpu in sample.gpus])
    return msgspec.structs.replace(sample, gpus=gpus)


DRIVER_WEDGED = Scenario(
    name="driver-wedged",
    summary="The driver does not answer for GPU 7 any more; the other GPUs stay live.",
    finds=("HW209",),
    severity="error",
    about="GPU 7",
    onset_seconds=-45.0,
    overlays=(_sent_again, on_source(gpu_source_name(_WEDGED), _asked_in_vain)),
)


def _bad_memory(gpu: GpuReading, scene: Scene) -> Fields:
    return {
        "ecc_uncorrected": 1,
        "ecc_uncorrected_lifetime": 1,
        "ecc_corrected": 14 + int(scene.grown(0.05)),
        "remapped_rows_uncorrected": 1,
        "remap_pending": True,
        "recovery_action": "gpu reset",
    }


ECC = Scenario(
    name="ecc",
    summary="GPU 2 had an uncorrectable memory error; a row is to be remapped at the next reset.",
    finds=("HW206", "HW204", "HW205", "HW217"),
    severity="error",
    about="GPU 2",
    onset_seconds=-90.0,
    overlays=(on_gpus(_bad_memory, 2), with_xid(48, 2), with_xid(63, 2, later_seconds=0.2)),
)


_REMAPPED = 5
_EARLIER = KernelLogReading(
    kind="xid",
    code=94,
    pci_bus_id=gpu_bus_id(_REMAPPED),
    command_name="python",
    text=f"NVRM: Xid (PCI:{gpu_bus_id(_REMAPPED)[:-2]}): 94, pid=3316, name=python, Contained: CE User "
    "Channel (0x9). RST: No, D-RST: No",
)


def _remap_pending(gpu: GpuReading, scene: Scene) -> Fields:
    return {"remapped_rows_uncorrected": 1, "remap_pending": True}


EARLIER_XID = Scenario(
    name="earlier-xid",
    summary="GPU 5 had a memory error 40 minutes ago: the kernel log tells, and a row is yet to be remapped.",
    finds=("HW206", "HW205"),
    about="GPU 5",
    onset_seconds=-110.0,
    overlays=(on_gpus(_remap_pending, _REMAPPED), in_kernel_log(_EARLIER, earlier_seconds=2400.0)),
)


def _trained_down(gpu: GpuReading, scene: Scene) -> Fields:
    return {"pcie_generation": 1, "pcie_replays": int(scene.grown(3.4))}


_SLOW_LINK = TRAINING["h2d"]._replace(pcie_rx=3.4e9, utilization=0.97)

PCIE_TRAINED_DOWN = Scenario(
    name="pcie-trained-down",
    summary="The PCIe link of GPU 4 has trained down to generation 1; its copies take 11 times as long.",
    finds=("LNK501", "LNK502", "RUN407"),
    about="gpu4 pcie",
    onset_seconds=-90.0,
    stages=(only(-90.0, 4, Pace(h2d=0.67, work={**TRAINING, "h2d": _SLOW_LINK})),),
    overlays=(on_gpus(_trained_down, 4),),
)
