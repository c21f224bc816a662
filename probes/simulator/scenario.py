"""What a scenario is: the healthy node with another pace of work, and changes to what is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from ..model.gpu_readings import GpuReading
from ..model.probe_readings import ProbeReading
from ..model.sample import Sample
from .rhythm import Stage

ScenarioSeverity = Literal["info", "warning", "error"]


class Scene(msgspec.Struct, frozen=True):
    """What an overlay may look at."""

    elapsed_seconds: float
    onset_seconds: float
    """When the fault really began, on the same clock."""
    zero_monotonic_seconds: float
    """The node's monotonic clock at elapsed 0."""
    zero_time_seconds: float
    """Unix time at elapsed 0."""
    gpu_at: Callable[[int, float], GpuReading]
    """Index and elapsed seconds → what the healthy source would have read then."""
    probe_at: Callable[[int, float], ProbeReading]
    """Rank and elapsed seconds → what its probe would have reported then."""

    @property
    def since(self) -> float:
        """Seconds since the onset; negative before."""
        return self.elapsed_seconds - self.onset_seconds

    def grown(self, per_second: float) -> float:
        """How far a counter has grown that counts since the onset."""
        return per_second * max(0.0, self.since)

    def ramp(self, before: float, after: float, seconds: float) -> float:
        """A value on its way from one level to another from the onset on."""
        share = min(1.0, max(0.0, self.since / seconds))
        return before + (after - before) * share


class Overlay(Protocol):
    """A change to a sample that has been made; pure. Called for every sample, also before the onset."""

    def __call__(self, sample: Sample, scene: Scene, /) -> Sample: ...


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A story that a simulated node tells."""

    name: str
    summary: str
    """One line for the list."""
    finds: tuple[str, ...] = ()
    """Ids of the rules that must find it: the cause, which must be the first finding, then its symptoms.
    Empty: nothing is wrong, and no rule may say so."""
    severity: ScenarioSeverity = "warning"
    """Of the cause, as the next one."""
    about: str = "job"
    """Whom it is about, in the words of the screen: ``GPU 3``, ``rank 5``, ``host``."""
    beside: tuple[str, ...] = ()
    """Ids of the rules that find another cause, which is no symptom of the first."""
    nearly: tuple[str, ...] = ()
    """Ids of the rules that must not find it, though what they look for is near."""
    onset_seconds: float = -90.0
    """When the fault begins. Where the pace changes, it is the first step after this."""
    stages: tuple[Stage, ...] = ()
    """The first one begins at the onset."""
    overlays: tuple[Overlay, ...] = ()
    """Applied in this order."""
    in_container: bool = False
    job_seconds: float = 42_170.0
    """The job's first step was so long before elapsed 0."""


class UnknownScenario(KeyError):
    """There is no scenario of that name. The text is one sentence for people."""

    def __init__(self, name: str, nearest: str | None, names: Sequence[str]) -> None:
        hint = f"; did you mean {nearest}?" if nearest else f"; scenarios are {', '.join(names)}"
        self.message = f"there is no scenario {name!r}{hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message
