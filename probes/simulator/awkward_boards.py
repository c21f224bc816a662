"""Healthy GPUs that tell less than others, or work in a way that looks ill."""

from __future__ import annotations

from msgspec.structs import replace

from ..model.gpu_readings import GpuReading, MigReading
from ..model.sample import Sample
from .awkward_from_the_start import ALWAYS, always
from .gpus import GIB
from .job import LAUNCHER_PID, rank_pid, worker_pids
from .overlays import Fields
from .rhythm import Pace, everyone
from .scenario import Scenario, Scene

_NOT_MIG = "not supported in MIG mode"
_NO_COUNTERS = "not supported by this GPU"
_PROFILE = ("utilization_ratio", "memory_utilization_ratio", "pcie_rx_bytes", "pcie_tx_bytes")


def _sliced(gpu: GpuReading, scene: Scene) -> Fields:
    slices = tuple(
        MigReading(
            index=number,
            uuid=f"MIG-{gpu.index}-{number}",
            name="3g.40gb",
            gpu_instance=number + 1,
            compute_instance=0,
            memory_used_bytes=(34 if number == 0 else 0) * GIB,
            memory_total_bytes=40 * GIB,
            multiprocessors=60,
        )
        for number in range(2)
    )
    return {
        "mig_mode": True,
        "migs": slices,
        **dict.fromkeys(_PROFILE),
        "sm_active_ratio": (gpu.sm_active_ratio or 0.0) * 0.45,
        "tensor_active_ratio": (gpu.tensor_active_ratio or 0.0) * 0.45,
        "power_watts": 300.0,
        "memory_used_bytes": 35 * GIB,
        "missing": {**gpu.missing, **dict.fromkeys(_PROFILE, _NOT_MIG)},
    }


MIG = Scenario(
    name="mig",
    summary="Healthy: all GPUs are split by MIG; one slice of each trains, the other is free.",
    nearly=("HW210", "MEM307"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(always(_sliced),),
)

_GB10_LACKS = (
    "memory_used_bytes",
    "memory_total_bytes",
    "memory_reserved_bytes",
    "bar1_used_bytes",
    "bar1_total_bytes",
    "memory_clock_hertz",
    "memory_clock_max_hertz",
    "memory_temperature_celsius",
    "power_limit_watts",
    "power_limit_default_watts",
    "temperature_shutdown_celsius",
    "pcie_rx_bytes",
    "pcie_tx_bytes",
    "nvlinks",
    "ecc_enabled",
    "ecc_uncorrected",
    "ecc_corrected",
    "sm_active_ratio",
    "sm_occupancy_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
)


def _gb10(gpu: GpuReading, scene: Scene) -> Fields:
    """Processor and GPU share one memory; the link on the package calls itself PCIe 1 of width 1."""
    return {
        **dict.fromkeys(_GB10_LACKS),
        "name": "NVIDIA GB10",
        "architecture": "Blackwell",
        "compute_capability": "12.1",
        "power_watts": 62.0,
        "temperature_celsius": 66.0,
        "sm_clock_hertz": 2418e6,
        "sm_clock_max_hertz": 3003e6,
        "pcie_generation": 1,
        "pcie_width": 1,
        "missing": {**gpu.missing, **dict.fromkeys(_GB10_LACKS, _NO_COUNTERS)},
    }


def _alone(sample: Sample, scene: Scene) -> Sample:
    """One GPU, one rank, no launcher of more."""
    kept = {LAUNCHER_PID, rank_pid(0), *worker_pids(0)}
    processes = tuple(
        [
            replace(
                each,
                environment={**each.environment, "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"},
            )
            if "WORLD_SIZE" in each.environment
            else each
            for each in sample.processes
            if each.pid in kept
        ]
    )
    return replace(
        sample,
        gpus=sample.gpus[:1],
        processes=processes,
        probes=tuple([replace(probe, world_size=1) for probe in sample.probes[:1]]),
        limits=sample.limits[:1],
        placements=sample.placements[:1],
        topology=None,
        gpu_paths=None,
        ports=(),
    )


GB10 = Scenario(
    name="gb10",
    summary="Healthy: one GB10, whose memory is the host's and whose driver tells little.",
    nearly=("LNK501", "HW203"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(always(_gb10), _alone),
)

_PROFILING = (
    "sm_active_ratio",
    "sm_occupancy_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
    "power_watts",
    "energy_joules",
    "pcie_rx_bytes",
    "pcie_tx_bytes",
)


def _without_counters(gpu: GpuReading, scene: Scene) -> Fields:
    refused = "no permission"
    return {
        **dict.fromkeys(_PROFILING),
        "missing": {**gpu.missing, **dict.fromkeys(_PROFILING, refused)},
    }


FEW_COUNTERS = Scenario(
    name="few-counters",
    summary="Healthy: SM, tensor, power and PCIe counters are refused, and no rank has a probe.",
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(
        always(_without_counters),
        lambda sample, _: replace(sample, probes=(), limits=()),
    ),
)

WITHOUT_PROBES = Scenario(
    name="without-probes",
    summary="Healthy: the ranks have no probe, so nothing is known of their steps.",
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(lambda sample, _: replace(sample, probes=()),),
)


def _locked(gpu: GpuReading, scene: Scene) -> Fields:
    return {
        "sm_clock_hertz": min(1410e6, gpu.sm_clock_hertz or 0.0),
        "sm_clock_application_hertz": 1410e6,
        "throttle_reasons": ("applications clocks setting",),
    }


CLOCKS_LOCKED = Scenario(
    name="clocks-locked",
    summary="Healthy: the site runs all GPUs at 1410 MHz, by its own setting.",
    nearly=("HW203", "HW202"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace(forward=0.82, backward=1.55)),),
    overlays=(always(_locked),),
)


def _warm(gpu: GpuReading, scene: Scene) -> Fields:
    return {"temperature_celsius": 82.0 + gpu.index % 3, "memory_temperature_celsius": 91.0}


WARM_ROOM = Scenario(
    name="warm-room",
    summary="Healthy: all GPUs are at 82 to 84 °C, just below what would slow them.",
    nearly=("HW201",),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(always(_warm),),
)


def _mended(gpu: GpuReading, scene: Scene) -> Fields:
    return {"ecc_corrected": 14 + int(scene.grown(0.002)), "remapped_rows_corrected": 1}


MENDED_MEMORY = Scenario(
    name="mended-memory",
    summary="Healthy: ECC has corrected some errors of GPU 2, and one of its rows was replaced long ago.",
    nearly=("HW204", "HW205"),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(always(_mended, 2),),
)


def _full_cache(gpu: GpuReading, scene: Scene) -> Fields:
    return {"memory_used_bytes": int(75.5 * GIB)}


PREALLOCATED = Scenario(
    name="preallocated",
    summary="Healthy: the framework takes 95 % of each GPU's memory at once, and never more.",
    nearly=("MEM301",),
    onset_seconds=ALWAYS,
    stages=(everyone(ALWAYS, Pace()),),
    overlays=(always(_full_cache),),
)
