"""A process with its rates, its role in a job and its GPUs."""

from __future__ import annotations

from .process_readings import ProcessReading
from .vocabulary import ProcessRole


class ProcessFrame(ProcessReading, frozen=True, kw_only=True, omit_defaults=False):
    """One process. ``cpu_cores`` is in cores: 1.5 means one and a half cores busy."""

    cpu_cores: float | None = None
    run_delay_ratio: float | None = None
    """Share of the time in which its main thread was ready but had no core."""
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    voluntary_switches_per_second: float | None = None
    involuntary_switches_per_second: float | None = None
    """The kernel took its core away for another."""
    major_faults_per_second: float | None = None
    """Pages that had to be read from storage first."""
    role: ProcessRole = "other"
    rank: int | None = None
    local_rank: int | None = None
    rank_pid: int | None = None
    """For a worker: the pid of its rank."""
    job_id: str | None = None
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs on which the driver lists it."""
    gpu_memory_bytes: int | None = None
    """Sum over those GPUs; ``None`` where the driver hides it."""
    sm_ratio: float | None = None
    """Mean over those GPUs."""
    age_seconds: float = 0.0
