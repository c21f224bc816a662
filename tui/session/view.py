"""What a screen draws from: one judgement, and how the reader looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal, Protocol

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ...probes.wire.messages import Reply
from ...rules.finding import Finding, Judgement
from ...rules.history import History
from ...rules.job_labels import job_labels
from ..drawing.target import Target

SortKey = Literal["gpu", "memory", "SM", "CPU", "RSS"]
SORT_KEYS: tuple[SortKey, ...] = ("gpu", "memory", "SM", "CPU", "RSS")
MIN_WIDTH, MIN_HEIGHT = 60, 7
"""Below that no screen fits: only the worst that was found is reported."""


class WatchLike(Protocol):
    """What the application needs of a watch."""

    stuck: str

    @property
    def history(self) -> History: ...
    @property
    def simulated(self) -> bool: ...
    @property
    def title(self) -> str: ...
    @property
    def past_samples(self) -> int: ...
    @property
    def pids(self) -> tuple[int, ...]: ...
    @property
    def asked_pid(self) -> int | None: ...
    def start(
        self,
        on_judgement: Callable[[Judgement], None],
        on_end: Callable[[str], None],
        on_notice: Callable[[str], None],
    ) -> None: ...
    def set_interval(self, seconds: float) -> None: ...
    def attach(self, pid: int) -> None: ...
    def take_stacks(self, pids: Sequence[int], seconds: float, *, shares: bool = ...) -> None: ...
    def send_signal(
        self, process: ProcessFrame, signal: int, on_reply: Callable[[Reply], None] = ...
    ) -> None: ...
    def show_environment(
        self, process: ProcessFrame, on_reply: Callable[[Reply], None]
    ) -> None: ...
    def take_exact_stack(
        self, process: ProcessFrame, *, native: bool, on_reply: Callable[[Reply], None]
    ) -> None: ...
    def close(self) -> None: ...


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The process that a user has come for, and where that has led."""

    pid: int
    job: JobFrame | None = None
    """As it was last seen alive; ``None``: it has led to none so far."""
    over_seconds: float | None = None
    """How long ago it was found to have ended; ``None``: it has not."""


class View(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that a picture depends on, apart from its size."""

    judgement: Judgement
    history: History
    title: str = "live"
    paused_seconds: float | None = None
    past_seconds: float | None = None
    """How much older it is than what came last, where the reader looks back."""
    silent_seconds: float = 0.0
    """For how long nothing has come, where that is too long."""
    ended: str | None = None
    """Why nothing comes any more; may be empty."""
    filter: str = ""
    sort: SortKey = "gpu"
    interval_seconds: float = 1.0
    selected: Target | None = None
    shaded: bool = False
    """Parts of a bar must differ without colors too."""
    asked: Asked | None = None
    """``None``: for no process in particular. Screens begin with its job."""
    once: bool = False
    """One picture and no more: nobody can wait for a finding to last, or press a key."""

    @property
    def frame(self) -> Frame:
        """The frame shown."""
        return self.judgement.frame

    @property
    def stands_still(self) -> bool:
        """Whether the reader looks at something else than what comes."""
        return self.paused_seconds is not None or self.past_seconds is not None

    @cached_property  # each row of each table asks
    def job_labels(self) -> Mapping[str, str]:
        """Job id → short name, where several are here."""
        return job_labels(self.frame.jobs)

    def findings(self, *states: str) -> list[Finding]:
        """Those of these states that the filter lets through, in their order."""
        return [
            finding
            for finding in self.judgement.findings
            if finding.state in states and self.lets(*_texts(finding))
        ]

    def lets(self, *texts: object) -> bool:
        """Whether the filter is found in one of these."""
        wanted = self.filter.casefold()
        return not wanted or any(wanted in str(text).casefold() for text in texts)


def _texts(finding: Finding) -> tuple[str, ...]:
    subject = finding.subject
    return (
        finding.id,
        finding.name,
        subject.id,
        "" if subject.gpu is None else f"GPU {subject.gpu}",
        "" if subject.rank is None else f"r{subject.rank}",
        subject.job_label or "",
    )


def window(count: int, rows: int, selected: int | None, wanted: int = 0) -> int:
    """The first of ``count`` items to show in ``rows`` rows, with the selected one in sight."""
    first = min(max(0, wanted), max(0, count - rows))
    if selected is None:
        return first
    return min(max(first, selected - rows + 1), selected)
