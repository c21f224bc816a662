"""What is drawn, exported and judged: a `Frame` is one sample with its rates and joins worked out.

What JSON calls a field, and prints of it, is said in one place (`tui/reports/json_names.py`). Each class adds to the reading it inherits from; units and the meaning of ``None`` are the same.
`derive.derive` makes frames and is the only place that does.
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from .gpu_frames import GpuFrame
from .gpu_readings import XidReading
from .host_frames import CgroupFrame, HostFrame, PressureFrame
from .job_frames import JobFrame, RankFrame
from .kernel_log import KernelLogFrame
from .link_frames import LinkFrame, PortFrame
from .link_readings import ImexReading
from .mount_frames import MountFrame
from .probe_readings import ProbeReading
from .process_frames import ProcessFrame
from .process_readings import LimitsReading
from .rank_activity import ExitedRank
from .rank_history import RankHistory
from .rank_readings import CommunicatorReading, StackReading, ThreadsReading
from .reading import Key, key_of
from .sample import SourceStatus
from .starvation import Starvation
from .topology_frames import PlacementFrame, TopologyFrame
from .wait_readings import WaitReading
from .worker_history import WorkerHistory


class ProbeFrame(ProbeReading, frozen=True, kw_only=True, omit_defaults=False):
    age_seconds: float = 0.0


class SourceFrame(SourceStatus, frozen=True, kw_only=True, omit_defaults=False):
    age_seconds: float | None = None
    """Of its last good reading; ``None``: there never was one."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything known of one node at one instant, ready to be drawn, exported or judged."""

    time_seconds: float
    monotonic_seconds: float
    sequence: int = 0
    interval_seconds: float = 1.0
    node: str
    boot_id: str = ""
    suspended_seconds: float = 0.0
    driver_version: str | None = None
    nvml_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[GpuFrame, ...] = ()
    processes: tuple[ProcessFrame, ...] = ()
    jobs: tuple[JobFrame, ...] = ()
    links: tuple[LinkFrame, ...] = ()
    ports: tuple[PortFrame, ...] = ()
    topology: TopologyFrame | None = None
    placements: tuple[PlacementFrame, ...] = ()
    host: HostFrame | None = None
    cgroups: tuple[CgroupFrame, ...] = ()
    pressures: tuple[PressureFrame, ...] = ()
    """Of control groups."""
    limits: tuple[LimitsReading, ...] = ()
    mounts: tuple[MountFrame, ...] = ()
    """Network file systems that ranks see."""
    waits: tuple[WaitReading, ...] = ()
    probes: tuple[ProbeFrame, ...] = ()
    threads: tuple[ThreadsReading, ...] = ()
    stacks: tuple[StackReading, ...] = ()
    communicators: tuple[CommunicatorReading, ...] = ()
    exited_ranks: tuple[ExitedRank, ...] = ()
    """Ranks that have ended within the last ten minutes, as far as they were watched."""
    pending_exits: tuple[ExitedRank, ...] = ()
    """Ranks that are not there any more, and of whose end nothing is known yet."""
    xids: tuple[XidReading, ...] = ()
    """Of the driver's events and of the kernel log, each once."""
    kernel_log: tuple[KernelLogFrame, ...] = ()
    sources: tuple[SourceFrame, ...] = ()
    imex: ImexReading | None = None
    starvation: Starvation | None = None
    """That the collector was not run for much of the time since the frame before."""
    rank_histories: tuple[RankHistory, ...] | msgspec.UnsetType = ()
    """What the next frame looks back on; never printed."""
    worker_histories: tuple[WorkerHistory, ...] | msgspec.UnsetType = ()
    """The same of loader workers."""

    # Looked up many times a frame; not fields, so neither sent nor printed.

    @cached_property
    def running(self) -> tuple[JobFrame, ...]:
        """The jobs with a rank that lives, and of their ranks those. All that can be judged: the dead
        are evidence, reported by their page for a day."""
        return tuple(
            job if len(living) == len(job.ranks) else msgspec.structs.replace(job, ranks=living)
            for job in self.jobs
            if (living := job.living) or not job.ranks
        )

    @cached_property
    def _gpus(self) -> dict[int, GpuFrame]:
        return {gpu.index: gpu for gpu in self.gpus}

    @cached_property
    def _processes(self) -> dict[int, ProcessFrame]:
        return {process.pid: process for process in self.processes}

    @cached_property
    def _probes(self) -> dict[Key, ProbeFrame]:
        return {key_of(probe): probe for probe in self.probes}

    @cached_property
    def _rank_histories(self) -> dict[Key, RankHistory]:
        rank_histories = (
            () if isinstance(self.rank_histories, msgspec.UnsetType) else self.rank_histories
        )
        return {key_of(past): past for past in rank_histories}

    @cached_property
    def _worker_histories(self) -> dict[Key, WorkerHistory]:
        found = (
            () if isinstance(self.worker_histories, msgspec.UnsetType) else self.worker_histories
        )
        return {key_of(each): each for each in found}

    def worker_history(self, pid: int, start_time_seconds: float) -> WorkerHistory | None:
        """What is remembered of the loader workers of that rank, or ``None``."""
        return self._worker_histories.get((pid, start_time_seconds))

    def probe(self, pid: int, start_time_seconds: float) -> ProbeFrame | None:
        """What the probe in that process tells, or ``None``."""
        return self._probes.get((pid, start_time_seconds))

    def rank_history(self, pid: int, start_time_seconds: float) -> RankHistory | None:
        """What is remembered of a process that has a probe, or ``None``."""
        return self._rank_histories.get((pid, start_time_seconds))

    def stacks_of(self, rank: RankFrame) -> StackReading | None:
        """The dumps of a rank, or ``None``."""
        key = key_of(rank)
        return next((each for each in self.stacks if key_of(each) == key), None)

    def wait_of(self, pid: int, start_time_seconds: float) -> WaitReading | None:
        """What was found out of the wait of that process, or ``None``."""
        key = (pid, start_time_seconds)
        return next((each for each in self.waits if key_of(each) == key), None)

    def gpu(self, index: int) -> GpuFrame | None:
        """The GPU of that NVML index, or ``None``."""
        return self._gpus.get(index)

    def process(self, pid: int) -> ProcessFrame | None:
        """The process of that pid, or ``None``."""
        return self._processes.get(pid)

    def pressure(self, group: str | None) -> PressureFrame | None:
        """The pressure in the control group of that path, or ``None``."""
        return next((pressure for pressure in self.pressures if pressure.path == group), None)

    def limits_of(self, process: ProcessFrame) -> LimitsReading | None:
        """What that process may have only so much of, or ``None``."""
        key = key_of(process)
        return next((each for each in self.limits if key_of(each) == key), None)

    def source(self, name: str) -> SourceFrame | None:
        """How the source of that name fared, or ``None``."""
        return next((source for source in self.sources if source.name == name), None)
