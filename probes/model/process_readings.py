"""What is read of a process; units as in `sample`."""

from .rank_readings import BlockedFile
from .reading import Reading


class ProcessReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """A process: one on a GPU, one above or below it in the process tree, or one asked for."""

    pid: int
    start_time_seconds: float
    """Since boot. Together with ``pid`` it names the process; a pid alone comes back."""
    parent_pid: int | None = None
    namespace_pids: tuple[int, ...] = ()
    """Its pid in each PID namespace from the host's inwards."""
    user: str | None = None
    name: str | None = None
    command: tuple[str, ...] | None = None
    """Argument vector with values that look like credentials masked."""
    state: str | None = None
    """The kernel's letter: R, S, D, T, t, Z, I, X."""
    wait_channel: str | None = None
    """Kernel function in which it sleeps."""
    threads: int | None = None
    cpu_seconds: float | None = None
    """Counter: user + system time of all its threads."""
    run_delay_seconds: float | None = None
    """Counter: how long its main thread was ready to run but had no core."""
    rss_bytes: int | None = None
    read_bytes: int | None = None
    """Counter: read from storage."""
    write_bytes: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    major_faults: int | None = None
    allowed_cpus: int | None = None
    """Size of its affinity mask."""
    cgroup: str | None = None
    container_id: str | None = None
    environment: dict[str, str] = {}
    """Only the allow-list of ``environment.ALLOWED``."""
    attached: bool = False
    """It was asked for by pid, or started what was; so it is a job, also where nothing names a rank."""
    environment_inherited: bool = False
    """It is the same as the parent's, and is therefore not repeated in ``environment``."""
    working_directory: str | None = None
    """As the process itself sees it; not repeated where the environment is not."""
    container_kind: str | None = None
    """Its runtime, in the words of ``proc_container.Container``."""
    pod_uid: str | None = None
    """Of the Kubernetes pod."""
    blocked_on: BlockedFile | None = None
    """The file at which its main thread stands still, where it does so for longer than a moment."""
    gpu_minors: tuple[int, ...] | None = None
    """Of a rank that the driver lists nowhere: minor numbers of the GPUs it has open for computing."""
    in_process_group: bool = False
    """It has the threads of a process group: a rank, though its environment may not say so."""
    titled: bool = False
    """Its program is a Python, and its command line says something else: a title that it was given."""
    ray_job: str | None = None
    """Of a worker of Ray's: the job that it works for, as its log file is called."""
    exit_signal: int | None = None
    """Of a zombie: the signal that ended it."""
    exit_code: int | None = None
    """Of a zombie that ended itself; ``None`` of it, with no signal: not shown to this user."""


class LimitsReading(Reading, frozen=True, kw_only=True, omit_defaults=True):
    """How much a process has of what it may have only so much of; read every ten seconds."""

    pid: int
    start_time_seconds: float
    """Since boot."""
    open_files: int | None = None
    """Descriptors in use."""
    open_files_limit: int | None = None
    """Its soft limit, at which ``open`` fails; ``None`` without a reason in ``missing``: no limit."""
    shm_total_bytes: int | None = None
    """Of the ``/dev/shm`` that it sees: each container has its own. ``None`` without a reason: no limit."""
    shm_free_bytes: int | None = None
