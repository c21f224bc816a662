"""What is drawn, exported and judged: a `Frame` is one sample with its rates and joins worked out.

The field names are the public ones: `gputop --once --format json` prints a frame as it stands here.
Each class adds to the reading it inherits from; units and the meaning of ``None`` are the same.
`derive.derive` makes frames and is the only place that does.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from ..derive.rank_history import RankPast
from ..jobs.gpu_assignment import ToldBy
from .link_frames import LinkFrame, PortFrame
from .probe_readings import ProbeReading
from .process_key import Key, key_of
from .rank_activity import ActivityFrame, GoneRank
from .rank_readings import CommunicatorReading, StackReading, ThreadsReading
from .reading import Missing
from .sample import (
    SCHEMA_VERSION,
    CgroupReading,
    DiskReading,
    GpuReading,
    HostReading,
    NetworkReading,
    NvlinkReading,
    ProcessReading,
    SourceStatus,
    XidReading,
)
from .topology_frames import PlacementFrame, TopologyFrame

GpuStatus = Literal["ok", "stale", "lost"]
Origin = Literal["measured", "sampled", "inferred"]
ProcessRole = Literal["rank", "worker", "launcher", "other"]


class NvlinkFrame(NvlinkReading, frozen=True, kw_only=True, omit_defaults=False):
    """One NVLink; rates are means since it was read before, which is some seconds."""

    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    crc_errors_per_second: float | None = None
    crc_errors_since_start: int = 0
    """Growth since this monitor first saw the counter, as the next two."""
    replay_errors_since_start: int = 0
    recovery_errors_since_start: int = 0
    was_active: bool = False
    """It was up when it was first seen, or at some time since."""


class GpuFrame(GpuReading, frozen=True, kw_only=True, omit_defaults=False):
    """One GPU at this instant. With ``stale`` the values are as old as ``age_seconds`` says."""

    status: GpuStatus = "ok"
    age_seconds: float = 0.0
    status_reason: str = ""
    pcie_generation_slot_max: int | None = None
    """Of the slot alone, as the bridge above the card tells it."""
    pcie_width_slot_max: int | None = None
    pcie_width_device_max: int | None = None
    pcie_limit_bytes_per_second: float | None = None
    """What the link as trained now can carry in one direction, encoding taken off."""
    pcie_replays_per_second: float | None = None
    pcie_replays_since_start: int | None = None
    """Growth since this monitor first saw the counter."""
    nvlink_limit_bytes_per_second: float | None = None
    """Sum over the active links, one direction."""
    nvlink_errors_since_start: int | None = None
    """CRC errors, replays and recoveries of all links."""
    nvlinks: tuple[NvlinkFrame, ...] | None = None
    ecc_uncorrected_since_start: int | None = None
    """Growth of the volatile counter since this monitor first saw it."""
    ecc_uncorrected_at_start: int | None = None
    """What the counter showed then."""
    rank: int | None = None
    job_id: str | None = None


class ProcessFrame(ProcessReading, frozen=True, kw_only=True, omit_defaults=False):
    """One process. ``cpu_cores`` is in cores: 1.5 means one and a half cores busy."""

    cpu_cores: float | None = None
    run_delay_ratio: float | None = None
    """Share of the time in which its main thread was ready but had no core."""
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    voluntary_switches_per_second: float | None = None
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


class DiskFrame(DiskReading, frozen=True, kw_only=True, omit_defaults=False):
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    busy_ratio: float | None = None


class NetworkFrame(NetworkReading, frozen=True, kw_only=True, omit_defaults=False):
    rx_bytes_per_second: float | None = None
    tx_bytes_per_second: float | None = None
    dropped_per_second: float | None = None
    dropped_since_start: int = 0
    """Growth since this monitor first saw the counter."""


class HostFrame(HostReading, frozen=True, kw_only=True, omit_defaults=False):
    """The node; ratios are over all cores since the previous frame."""

    cpu_ratio: float | None = None
    cpu_iowait_ratio: float | None = None
    swap_in_bytes_per_second: float | None = None
    swap_out_bytes_per_second: float | None = None
    pressure_cpu_ratio: float | None = None
    pressure_memory_ratio: float | None = None
    pressure_io_ratio: float | None = None
    pressure_io_full_ratio: float | None = None
    read_bytes_per_second: float | None = None
    """Over all disks."""
    write_bytes_per_second: float | None = None
    rx_bytes_per_second: float | None = None
    """Over all network interfaces."""
    tx_bytes_per_second: float | None = None
    disks: tuple[DiskFrame, ...] | None = None
    networks: tuple[NetworkFrame, ...] | None = None
    tcp_retransmissions_per_second: float | None = None
    tcp_retransmission_ratio: float | None = None
    """Of the segments sent since the previous frame."""
    age_seconds: float = 0.0
    tcp_segments_per_second: float | None = None
    """Sent for the first time: those sent again are not among them."""


class CgroupFrame(CgroupReading, frozen=True, kw_only=True, omit_defaults=False):
    throttled_ratio: float | None = None
    """Share of the scheduling periods since the previous frame in which it was held back."""
    oom_kills_since_start: int | None = None
    pids: tuple[int, ...] = ()
    """Of the processes of interest in it."""


class RankFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One training process of a job. Without a probe nothing from ``phase`` on is known."""

    rank: int | None
    local_rank: int | None = None
    pid: int
    start_time_seconds: float
    gpu_index: int | None = None
    gpu_uuid: str | None = None
    gpu_told_by: ToldBy | None = None
    """Who says that it is on this GPU; its open files and variables only where the driver does not."""
    workers: tuple[int, ...] = ()
    """Pids of its DataLoader workers and other children."""
    phase: str | None = None
    """What its main loop is in; with ``ended_age_seconds``, what it was in when it died."""
    phase_age_seconds: float | None = None
    """Against the time of the frame, so that the phase of a frozen job grows old. Of one seen from
    outside: how long each look has met it, between which it may have come and gone."""
    phase_unbroken_seconds: float | None = None
    """How much of that time it was in it without a break, as its probe or its standing still proves."""
    phase_source: Origin | None = None
    phase_votes: int | None = None
    """Stacks that the phase was told from; of a sampled phase it is the host's, not the GPU's."""
    phase_share: float | None = None
    """Of those stacks, how many told it."""
    phase_margin: float | None = None
    """The true share is within this of ``phase_share``, at 95 %."""
    phases_sampled: dict[str, float] = {}
    """Share of each phase of the host among the stacks of the last minutes; from `LEAST_SAMPLES` on."""
    phases_sampled_count: int = 0
    """How many stacks that were, or are so far."""
    doing: str | None = None
    """In words, what it does within the phase, where stacks or threads tell."""
    place: str | None = None
    """Innermost function of the user's own in its stack: ``load_batch (train.py:88)``."""
    activity: ActivityFrame | None = None
    step: int | None = None
    """Number of the last finished step."""
    current_step: int | None = None
    """Number of the step in progress."""
    step_seconds: float | None = None
    """Duration of the last whole step."""
    step_age_seconds: float | None = None
    """Since the last step ended. Where the page does not tell when that was: since its number was last
    seen to change, or since the phase began, whichever is longer ago."""
    step_p50_seconds: float | None = None
    """Percentiles over the steps that are kept, at most `rank_past.STEPS`."""
    step_p99_seconds: float | None = None
    step_spread_ratio: float | None = None
    """Half the distance from the 10th to the 90th percentile, over the median."""
    host_step_seconds: float | None = None
    """Mean of the recent steps (at most `step_figures.RECENT`) whose GPU time is known."""
    gpu_step_seconds: float | None = None
    """Of the same steps: time in which the GPU worked on the default stream."""
    run_ahead_seconds: float | None = None
    """Median over the recent steps. Near zero: the GPU waits for the host."""
    samples_per_second: float | None = None
    """Over the recent steps, and what the step in progress takes longer than any of them; ``None`` where no
    step has ended for so long that the job stands still, as the next one."""
    tokens_per_second: float | None = None
    throughput_spread_ratio: float | None = None
    """As ``step_spread_ratio``, of tokens (else samples) a second over the recent steps."""
    loss: float | None = None
    memory_allocated_bytes: int | None = None
    """By torch's allocator, as the next one."""
    memory_reserved_bytes: int | None = None
    phases: dict[str, float] = {}
    """Share of the time since the previous frame per phase; sums to 1 where a probe is present."""
    phases_last_steps: dict[str, float] = {}
    """The same over the recent steps."""
    phases_last_minute: dict[str, float] = {}
    """The same over the last 60 s."""
    last_minute_seconds: float = 0.0
    """How much of the last 60 s was seen."""
    waits_for: tuple[int, ...] = ()
    """Ranks of this node that have not entered the collective in which this one is."""
    ended_age_seconds: float | None = None
    """The process died so long ago; what is told is what its page still says."""
    probe_cost_ratio: float | None = None
    """The probe's own time as a share of the step time."""
    ledger: dict[str, float] = {}
    """Seconds per loss over the last minute."""
    missing: Missing = {}

    @property
    def stopped(self) -> bool:
        """The kernel lets none of its threads run: by a signal, or since a debugger holds it."""
        return self.activity is not None and self.activity.state in ("T", "t")


class JobFrame(msgspec.Struct, frozen=True, kw_only=True):
    """Processes that belong to one training run on this node."""

    id: str
    """Stable for the life of the job: made of what started it (Slurm job, launcher pid, rank pid)."""
    name: str
    """The script, for people."""
    user: str | None = None
    world_size: int | None = None
    slurm_job_id: str | None = None
    slurm_step_id: str | None = None
    container_id: str | None = None
    container_kind: str | None = None
    pod_uid: str | None = None
    pod_name: str | None = None
    """As its environment says."""
    working_directory: str | None = None
    """Of its first rank, as the two that follow."""
    command: tuple[str, ...] | None = None
    start_time_seconds: float | None = None
    """Since boot."""
    launcher_pid: int | None = None
    ranks: tuple[RankFrame, ...] = ()
    pids: tuple[int, ...] = ()

    @property
    def living(self) -> tuple[RankFrame, ...]:
        """The ranks that have not died."""
        return tuple([rank for rank in self.ranks if rank.ended_age_seconds is None])


class ProbeFrame(ProbeReading, frozen=True, kw_only=True, omit_defaults=False):
    age_seconds: float = 0.0


class SourceFrame(SourceStatus, frozen=True, kw_only=True, omit_defaults=False):
    age_seconds: float | None = None
    """Of its last good reading; ``None``: there never was one."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything known of one node at one instant, ready to be drawn, exported or judged."""

    schema_version: int = SCHEMA_VERSION
    time_seconds: float
    monotonic_seconds: float
    sequence: int = 0
    interval_seconds: float = 1.0
    node: str
    boot_id: str = ""
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
    probes: tuple[ProbeFrame, ...] = ()
    threads: tuple[ThreadsReading, ...] = ()
    stacks: tuple[StackReading, ...] = ()
    communicators: tuple[CommunicatorReading, ...] = ()
    gone: tuple[GoneRank, ...] = ()
    """Ranks that have ended within the last ten minutes, as far as they were watched."""
    awaited: tuple[GoneRank, ...] = ()
    """Ranks that are not there any more, and of whose end nothing is known yet."""
    xids: tuple[XidReading, ...] = ()
    sources: tuple[SourceFrame, ...] = ()
    pasts: tuple[RankPast, ...] | msgspec.UnsetType = ()
    """What the next frame looks back on; unset, and so left out, where a frame is printed."""

    # Looked up many times a frame; not fields, so neither sent nor printed.

    @cached_property
    def running(self) -> tuple[JobFrame, ...]:
        """The jobs with a rank that lives, and of their ranks those. All that can be judged: the dead
        are evidence, told by their page for a day."""
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
    def _pasts(self) -> dict[Key, RankPast]:
        pasts = () if isinstance(self.pasts, msgspec.UnsetType) else self.pasts
        return {key_of(past): past for past in pasts}

    def probe(self, pid: int, start_time_seconds: float) -> ProbeFrame | None:
        """What the probe in that process tells, or ``None``."""
        return self._probes.get((pid, start_time_seconds))

    def past(self, pid: int, start_time_seconds: float) -> RankPast | None:
        """What is remembered of a process that has a probe, or ``None``."""
        return self._pasts.get((pid, start_time_seconds))

    def gpu(self, index: int) -> GpuFrame | None:
        """The GPU of that NVML index, or ``None``."""
        return self._gpus.get(index)

    def process(self, pid: int) -> ProcessFrame | None:
        """The process of that pid, or ``None``."""
        return self._processes.get(pid)

    def source(self, name: str) -> SourceFrame | None:
        """How the source of that name fared, or ``None``."""
        return next((source for source in self.sources if source.name == name), None)
