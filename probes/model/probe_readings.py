"""What the probe inside a training process tells, as read off its state page.

All moments are on the node's monotonic clock. Times per phase are *exclusive*: a phase's own span
without the phases inside it, so they sum to the span they divide.
"""

import msgspec

from .reading import Reading


class StepReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finished step of the main loop."""

    number: int
    monotonic_seconds: float
    """When it ended."""
    seconds: float
    """From the end of the step before."""
    phases: dict[str, float] = {}
    """Host seconds per phase; sums to ``seconds``."""
    gpu_phases: dict[str, float] = {}
    """Seconds per phase on the default stream; empty until its events are done, or without a GPU."""
    run_ahead_seconds: float | None = None
    """How far the host was in front of the GPU at the step's end. Near zero: the GPU waits for it."""
    samples: float | None = None
    """Training samples of this step."""
    tokens: float | None = None
    loss: float | None = None
    micro_steps: int = 1
    """Backward passes in it: more than one under gradient accumulation."""
    skipped: bool = False
    """The optimizer did not change the weights: the loss scaler found infinities."""


class SegmentReading(msgspec.Struct, frozen=True, array_like=True):
    """A phase began here, and lasts until the next segment begins."""

    phase: str
    monotonic_seconds: float
    step: int
    """Number of the step in progress."""


class ThreadPhaseReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A thread beside the main loop that has phases of its own, such as a checkpoint in background."""

    native_id: int
    name: str
    phase: str
    phase_monotonic_seconds: float


class AllocatorReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """torch's caching allocator on the rank's own device."""

    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    inactive_split_bytes: int | None = None
    """Held in pieces that nothing uses and nothing can: fragmentation."""
    alloc_retries: int | None = None
    """Counter. Each one emptied the cache and allocated anew: the whole device waits."""
    ooms: int | None = None
    """Counter."""


class CollectiveReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The newest collective of one process group, as this rank sees it."""

    group: str
    sequence: int
    """How many this rank's Python has launched in the group; ranks that differ have lost each other. 0: none,
    as in a group that DDP alone uses."""
    group_sequence: int | None = None
    """The group's own count, with what DDP and FSDP launch; looked at now and then, so it may be behind."""
    operation: str
    ranks: tuple[int, ...] = ()
    in_flight_monotonic_seconds: float | None = None
    """When the host entered it; ``None``: it came back."""
    host_waits: bool = True
    """While one is in flight: the host is inside it, or waits for it. Otherwise it was launched
    asynchronously, and the host has gone on and not asked for it yet."""


class DdpReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What DistributedDataParallel has measured of its backward, on the mean of the iterations that it timed."""

    backward_compute_seconds: float | None = None
    """From the start of the backward to the last gradient."""
    backward_comm_seconds: float | None = None
    """From the first all-reduce's launch to the last one's end."""
    backward_overlap_seconds: float | None = None
    """What these two have in common: so much of the communication is hidden."""


class LoaderReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The DataLoader that the main loop draws from."""

    num_workers: int = 0
    worker_pids: tuple[int, ...] = ()
    prefetch_factor: int | None = None
    pin_memory: bool | None = None
    persistent_workers: bool | None = None
    batch_size: int | None = None
    queue_depth: int | None = None
    """Batches ready to be taken."""
    queue_capacity: int | None = None
    failures: int | None = None
    """Counter of draws, of all loaders of the process, that found a worker dead."""


class ProbeReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """What the probe inside a training process tells about it."""

    pid: int
    start_time_seconds: float
    phase: str | None = None
    phase_monotonic_seconds: float | None = None
    """When the phase began."""
    step: int | None = None
    """Number of the last finished step."""
    step_seconds: float | None = None
    """Duration of the last whole step."""
    step_monotonic_seconds: float | None = None
    """When the last step ended."""
    samples: float | None = None
    """Counter of training samples."""
    tokens: float | None = None
    """Counter of training tokens."""
    phase_seconds: dict[str, float] = {}
    """Counter per phase: exclusive host time since the probe began, the open phase included."""
    steps: tuple[StepReading, ...] = ()
    """The newest steps, oldest first: those since the last sample, and any that changed since."""
    steps_left_out: int = 0
    """Counter of steps that were so short that there were too many to tell of: of each tick's, the newest
    and the longest are reported."""
    segments: tuple[SegmentReading, ...] = ()
    """The newest phases of the main thread, oldest first; the last is the one in progress."""
    threads: tuple[ThreadPhaseReading, ...] = ()
    allocator: AllocatorReading | None = None
    collectives: tuple[CollectiveReading, ...] = ()
    loader: LoaderReading | None = None
    gc_pauses: int | None = None
    """Counter of garbage collections of the oldest generation."""
    gc_pause_seconds: float | None = None
    """Counter of time in all garbage collections."""
    recompiles: int | None = None
    """Counter."""
    skipped_steps: int | None = None
    """Counter."""
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    job_name: str | None = None
    device_uuid: str | None = None
    """GPU that the rank computes on, as CUDA names it; ``GPU-…``."""
    precision: str | None = None
    python_version: str | None = None
    torch_version: str | None = None
    cuda_version: str | None = None
    nccl_version: str | None = None
    overhead_ratio: float | None = None
    """The probe's own time as a share of the step time, as it measures itself."""
    instruments: dict[str, str] = {}
    """Instrument → ``on``, or why it is not."""
    steps_off: str | None = None
    """Why steps are not counted now: what counts them went off after the last one that is known."""
    error: str | None = None
    """Why the probe switched itself off."""
    socket: str | None = None
    """Path of the control socket, as the job sees it."""
    ended_monotonic_seconds: float | None = None
    """The process is gone, and this is when that was first seen: its page is what it left."""
    ddp: DdpReading | None = None


NEWEST_STEPS = 10
"""So many of the new steps are read each time, once the past has been reported."""


LONGEST_STEPS = 2
"""And so many of those before them that took longest: an outlier is not to be missed."""
