"""What was read: one instant on one node, raw, with counters left as counters.

A `Sample` is what travels (pipe, ssh, recording) and nothing else is recorded, so every field added
later needs a default and no field ever changes its meaning or unit.

Units are SI base units, named in the field: bytes, seconds, watts, hertz, degrees Celsius, and
ratios from 0 to 1. Fields without ``_per_second`` that only ever grow are counters.

A value that could not be had is ``None``, never 0, and ``missing`` maps its field name to the reason
in words. Every reading carries the moment it was taken on the node's monotonic clock: a source that
is late has its last reading sent again, and only this moment tells.
"""

from typing import Literal

import msgspec

from .gpu_readings import DriverReading, GpuReading, XidReading
from .host_readings import CgroupReading, HostReading, PressureReading
from .kernel_log import KernelLogReading
from .link_readings import (
    GpuPathsReading,
    ImexReading,
    PlacementReading,
    PortReading,
    TopologyReading,
)
from .mount_readings import MountReading
from .probe_readings import ProbeReading
from .process_readings import LimitsReading, ProcessReading
from .rank_readings import CommunicatorReading, ExitReading, StackReading, ThreadsReading
from .starvation import Starvation
from .wait_readings import WaitReading

WIRE_SCHEMA_VERSION = 2
"""Of the samples. What is printed from them has names and a version of its own."""

SourceState = Literal["ok", "absent", "unsupported", "denied", "stale", "failed"]


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one source fared."""

    name: str
    status: SourceState
    reason: str = ""
    monotonic_seconds: float | None = None
    """Of its last good reading."""
    duration_seconds: float | None = None
    """Of its last finished read."""
    busy_seconds: float | None = None
    """How long the read in progress has had to answer, where the source is late: less what follows."""
    starved_seconds: float | None = None
    """Of the read in progress, the time in which its thread waited for a core, or this process did."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sample"):
    """Everything that was known of one node at one instant."""

    time_seconds: float
    """Unix time."""
    monotonic_seconds: float
    """The same instant on the node's monotonic clock."""
    sequence: int
    node: str
    interval_seconds: float = 1.0
    boot_id: str = ""
    suspended_seconds: float = 0.0
    """How long the node has slept since it was started: its monotonic clock stood still, and what is
    reported since boot went on."""
    driver: DriverReading | None = None
    gpus: tuple[GpuReading, ...] = ()
    xids: tuple[XidReading, ...] = ()
    processes: tuple[ProcessReading, ...] = ()
    cgroups: tuple[CgroupReading, ...] = ()
    host: HostReading | None = None
    probes: tuple[ProbeReading, ...] = ()
    threads: tuple[ThreadsReading, ...] = ()
    stacks: tuple[StackReading, ...] = ()
    exits: tuple[ExitReading, ...] = ()
    ports: tuple[PortReading, ...] = ()
    topology: TopologyReading | None = None
    gpu_paths: GpuPathsReading | None = None
    placements: tuple[PlacementReading, ...] = ()
    communicators: tuple[CommunicatorReading, ...] = ()
    pressures: tuple[PressureReading, ...] = ()
    """Of control groups."""
    limits: tuple[LimitsReading, ...] = ()
    """Of ranks and their children."""
    mounts: tuple[MountReading, ...] = ()
    """Network file systems that ranks see."""
    kernel_log: tuple[KernelLogReading, ...] = ()
    waits: tuple[WaitReading, ...] = ()
    """Of processes that stand still, on request."""
    imex: ImexReading | None = None
    sources: tuple[SourceStatus, ...] = ()
    starvation: Starvation | None = None
    """``None``: the collector was run whenever it could."""
