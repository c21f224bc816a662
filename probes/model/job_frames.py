"""Jobs and their ranks: what a probe, stacks and threads say of each."""

from __future__ import annotations

import msgspec

from .rank_activity import ActivityFrame, ExitedRank
from .reading import Missing
from .vocabulary import AssignedBy, Origin


class RankFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One training process of a job. Without a probe nothing from ``phase`` on is known."""

    rank: int | None
    local_rank: int | None = None
    pid: int
    start_time_seconds: float
    gpu_index: int | None = None
    gpu_uuid: str | None = None
    gpu_assigned_by: AssignedBy | None = None
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
    longest_phases: dict[str, float] = {}
    """Of starting, compiling, saving and evaluating: the longest time that each has lasted and ended."""
    phase_source: Origin | None = None
    phase_dumps: int | None = None
    """Stacks that the phase was reported from; of a sampled phase it is the host's, not the GPU's."""
    phase_share: float | None = None
    """Of those stacks, how many reported it."""
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
    long_phase_seconds: float = 0.0
    """How much of that time it was in phases that take long by their nature, as far as it was seen."""
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
    """The process died so long ago; what is reported is what its page still says."""
    probe_overhead_ratio: float | None = None
    """The probe's own time as a share of the step time."""
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


def exited_rank(rank: RankFrame, job: JobFrame, monotonic_seconds: float) -> ExitedRank:
    """A rank of a job, gone at that moment; how is not known."""
    return ExitedRank(
        rank=rank.rank,
        pid=rank.pid,
        start_time_seconds=rank.start_time_seconds,
        job_id=job.id,
        job_name=job.name,
        monotonic_seconds=monotonic_seconds,
        gpu_index=rank.gpu_index,
    )
