"""What is read of a training process from outside, beyond what any process shows: threads, stacks, end."""

import msgspec

from .reading import Missing, Reading


class ThreadReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thread of a rank, as the kernel shows it to anybody."""

    tid: int
    """Here, not in its own PID namespace."""
    name: str
    state: str
    """The kernel's letter."""
    cpu_seconds: float
    """Counter."""
    wait_channel: str | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None


class ThreadsReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The threads of one rank that tell what it does: the main one, and those that have a name."""

    pid: int
    start_time_seconds: float
    main: ThreadReading
    others: tuple[ThreadReading, ...] = ()
    count: int = 0
    """Of all its threads, as of the last listing."""


class ExitReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rank that has ended while it was watched. Recent ones are repeated in each sample."""

    pid: int
    start_time_seconds: float
    monotonic_seconds: float
    """When this was noticed."""
    signal: int | None = None
    """That ended it."""
    code: int | None = None
    """With which it ended itself."""
    killed_by: str = ""
    """Who sent the signal, in words: in recordings from before the kernel log was a source of its own."""
    missing: Missing = {}


class BlockedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a process does to which file, and where that lies."""

    call: str
    """In words: ``reads``, ``opens``, ``syncs``…"""
    path: str
    """As the process sees it; ``pipe:[77]`` and the like where it has no name."""
    mount_point: str | None = None
    file_system: str | None = None
    """Its type: ``nfs4``, ``ext4``, ``fuse.sshfs``…"""
    device: str | None = None
    """What is mounted there: a disk, or ``server:/export``."""


class CommunicatorRankReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One rank of an NCCL communicator, on this node or another."""

    rank: int
    """Within the communicator."""
    pid: int | None = None
    """Here; ``None`` for ranks of other nodes."""
    host: str = ""
    launched: int = 0
    """Collectives since the communicator was made; sends and receives are not counted."""
    failed: bool = False
    """It has an asynchronous error, or was aborted."""


class CommunicatorReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """What NCCL's RAS tells of a communicator in which a process of this node is."""

    id: str
    size: int = 0
    ranks: tuple[CommunicatorRankReading, ...] = ()
    silent: tuple[int, ...] = ()
    """Ranks that did not answer."""


class StackFrameReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One Python function in a stack."""

    name: str
    file: str
    """Relative to the target's module path: ``torch/autograd/graph.py``, ``train.py``."""
    line: int | None = None


Stack = tuple[StackFrameReading, ...]
"""Innermost first."""


PROBE_THREADS = "gputop-"
"""With this begin the names of the threads that a probe has in its process."""


class StackThreadReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One Python thread with its stack."""

    frames: Stack
    name: str | None = None
    os_thread_id: int | None = None
    """In the target's own PID namespace."""
    main: bool = False
    active: bool | None = None
    """It ran at the time, as the kernel says."""
    owns_gil: bool = False
    place: str = ""
    """Its innermost function of the user's own, else the innermost of all: ``load_batch (train.py:88)``."""
    hands_over: bool | None = None
    """Whether it may let another thread of its process go on; ``False``: by its source it does not, and
    nothing from outside wakes it. Looked up only where the main thread waits for a lock."""
    sleeps: bool | None = None
    """For a time that it has set itself. Looked up where ``hands_over`` is."""

    @property
    def of_probe(self) -> bool:
        """It is the probe's, and serves nobody in the job."""
        return (self.name or "").startswith(PROBE_THREADS)


class FileLoop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A loop of the program that sleeps and looks again for a file."""

    until: str
    """``locked``: until it can be locked. ``gone``: until it is not there any more, as a lock file.
    ``there``: until it comes."""
    text: str
    """The first line of the loop."""
    line: int
    path: str = ""
    """Of the file, where it is known: by the variable that the loop looks at, and only if it is there."""


class BusyLoop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A loop of the program that only looks, or only changes variables of its own, and counts to no bound."""

    text: str
    """The first line of the loop."""
    line: int


class StackReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """The Python stacks of one process: a few dumps, taken one shortly after the other."""

    pid: int
    start_time_seconds: float
    threads: tuple[StackThreadReading, ...] = ()
    """As of the last dump that succeeded."""
    main_stacks: tuple[Stack, ...] = ()
    """Of the main thread, one for each dump that had it whole."""
    taken: int = 0
    """Dumps tried."""
    inconsistent_dumps: int = 0
    """Of these, such as failed or had no stack of the main thread: memory changed while it was read."""
    refusal: str = ""
    """Why there are none, with what would lift it, in one sentence."""
    duration_seconds: float | None = None
    """Of all these dumps."""
    state_after: str | None = None
    """The target's state afterwards, in the kernel's letter."""
    phase_samples: dict[str, int] = {}
    """Of the last minutes in which shares were asked for: how many samples of the main thread reported each
    phase of the host."""
    pairwise_samples: int = 0
    """Of these, such as were inside a send or receive between two ranks."""
    phase_runs: int = 0
    """Seconds in which they were taken, one after the other."""
    mixed_runs: int = 0
    """Of these, such as met it in more than one phase: its steps are short."""
    failure: str = ""
    """Why the last dump did not succeed, where it did not; the next one may."""
    file_loop: FileLoop | None = None
    """Around where its main thread sleeps, by its source."""
    busy_loop: BusyLoop | None = None
    """Around where its main thread runs, by its source."""


DUMPS = 3
"""So many dumps say together what the process does; one alone may be inconsistent, or a passing moment."""


DUMPS_SECONDS = 12.0
"""An older dump has no say any more."""
