"""Processes: rates, and which GPUs and job each belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ..jobs.grouping import Grouping
from ..model.frame import Frame
from ..model.gpu_readings import GpuProcessReading, GpuReading
from ..model.process_frames import ProcessFrame
from ..model.process_readings import ProcessReading
from ..model.reading import Missing, key_of
from ..model.sample import Sample
from .extend import extend
from .rates import counter_rates

_RATES = {
    "cpu_cores": "cpu_seconds",
    "run_delay_ratio": "run_delay_seconds",
    "read_bytes_per_second": "read_bytes",
    "write_bytes_per_second": "write_bytes",
    "voluntary_switches_per_second": "voluntary_switches",
    "involuntary_switches_per_second": "involuntary_switches",
    "major_faults_per_second": "major_faults",
}

_Placement = tuple[GpuReading, GpuProcessReading]
"""A GPU, and what the driver says of the process there."""


def derive_processes(
    previous: Frame | None, current: Sample, grouping: Grouping
) -> tuple[ProcessFrame, ...]:
    """The processes of the sample, in its order."""
    before = {key_of(process): process for process in (previous.processes if previous else ())}
    placements = _placements(current.gpus, grouping)
    return tuple(
        _derive_process(
            reading,
            before.get(key_of(reading)),
            placements.get(reading.pid, ()),
            grouping,
            max(0.0, current.monotonic_seconds - reading.monotonic_seconds),
        )
        for reading in current.processes
    )


def _derive_process(
    reading: ProcessReading,
    previous: ProcessFrame | None,
    placements: Sequence[_Placement],
    grouping: Grouping,
    age_seconds: float,
) -> ProcessFrame:
    missing = dict(reading.missing)
    return extend(
        ProcessFrame,
        reading,
        **counter_rates(reading, previous, _RATES, missing),
        **_membership(reading.pid, grouping),
        **_on_gpus(placements, missing),
        age_seconds=age_seconds,
        missing=missing,
    )


def _membership(pid: int, grouping: Grouping) -> dict[str, Any]:
    member = grouping.members.get(pid)
    if member is None:
        return {}
    return {
        "role": member.role,
        "rank": member.rank,
        "local_rank": member.local_rank,
        "rank_pid": member.rank_pid,
        "job_id": member.job_id,
    }


def _on_gpus(placements: Sequence[_Placement], missing: Missing) -> dict[str, Any]:
    memory = [on.memory_bytes for _, on in placements if on.memory_bytes is not None]
    sm = [on.sm_ratio for _, on in placements if on.sm_ratio is not None]
    if not memory:
        missing["gpu_memory_bytes"] = _why_not(placements, "processes.memory_bytes")
    if not sm:
        missing["sm_ratio"] = _why_not(placements, "processes.sm_ratio")
    return {
        "gpus": tuple(sorted({gpu.index for gpu, _ in placements})),
        "gpu_memory_bytes": sum(memory) if memory else None,
        "sm_ratio": fmean(sm) if sm else None,
    }


def _placements(gpus: Sequence[GpuReading], grouping: Grouping) -> dict[int, list[_Placement]]:
    placed: dict[int, list[_Placement]] = {}
    for gpu in gpus:
        for on in gpu.processes or ():
            pid = grouping.local_pids.get(on.pid, on.pid)
            placed.setdefault(pid, []).append((gpu, on))
    return placed


def _why_not(placements: Sequence[_Placement], field: str) -> str:
    if not placements:
        return "the driver lists it on no GPU"
    return placements[0][0].missing.get(field, "not reported by the driver")
