"""What one side of a comparison shows as a whole: records, filled by `Gatherer`."""

from __future__ import annotations

import msgspec

from ....probes.model.link_frames import LinkKind
from ....rules.finding import NotEvaluated, Severity

Number = float | None


class GpuSide(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the span."""

    index: int
    name: str | None
    utilization_ratio: Number = None
    sm_clock_hertz: Number = None
    """Of the moments in which it worked: weighted by how much it did."""
    power_watts: Number = None
    memory_used_bytes: Number = None


class LinkSide(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the node."""

    id: str
    kind: LinkKind
    limit_bytes_per_second: Number = None
    """The best that it was trained at: an idle PCIe link saves power."""
    rx_bytes_per_second: Number = None
    tx_bytes_per_second: Number = None


class JobSide(msgspec.Struct, frozen=True, kw_only=True):
    """All jobs of one name; a job that was started again goes on."""

    name: str
    job_count: int
    """How many there were of this name."""
    rank_count: int
    """At most, at a time, on this node."""
    world_size: int | None
    steps: int = 0
    """That ended within the span, of all ranks."""
    steps_left_out: int = 0
    """So short that there were too many to tell of each."""
    step_p50_duration_seconds: Number = None
    step_p99_duration_seconds: Number = None
    step_mean_duration_seconds: Number = None
    samples_per_second: Number = None
    """Of one rank, as the next one."""
    tokens_per_second: Number = None
    ledger_ratios: dict[str, float] = {}
    """Share of each entry in the time of the job; they sum to 1."""
    python_version: str | None = None
    """As its probes say, and the next ones."""
    torch_version: str | None = None
    cuda_version: str | None = None
    nccl_version: str | None = None
    no_steps_because: str = ""


class FindingSide(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that found something."""

    id: str
    name: str
    severity: Severity
    """The worst."""
    subjects: tuple[str, ...]
    active_ratio: float
    """Share of the span in which any of them counted."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One recording, or a span of one."""

    source: str
    """As it was named."""
    node: str
    driver_version: str | None = None
    first_timestamp_seconds: float
    """Unix time of its first sample, and of its last."""
    last_timestamp_seconds: float
    samples: int
    seen_duration_seconds: float
    """How much of it was read."""
    unreadable: tuple[str, ...] = ()
    """Sentences on what of the recording could not be read."""
    gpus: tuple[GpuSide, ...] = ()
    links: tuple[LinkSide, ...] = ()
    jobs: tuple[JobSide, ...] = ()
    ledger_ratios: dict[str, float] = {}
    """Of the node."""
    findings: tuple[FindingSide, ...] = ()
    rules_not_evaluated: tuple[NotEvaluated, ...] = ()
    """Those that could never look."""

    def why_not_evaluated(self, rule: str) -> str:
        """Why a rule could never look; empty where it could."""
        return next((each.reason for each in self.rules_not_evaluated if each.id == rule), "")
