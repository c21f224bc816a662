"""A moment's time, split: what the host's phases and the GPU's counters say of it together.

A GPU that computes while its host waits has lost nothing, and one that runs nothing while its host is in
the forward pass has. Where counters are missing, the host's word stands and is no measurement any more;
where there is neither, the time is unexplained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import RankFrame
from ...probes.model.vocabulary import Origin
from ..device._clocks import clock_loss, peer_clock
from ..occupancy import IDLE_POWER_RATIO, IDLE_RATIO
from .entries import (
    COMM,
    COMPUTE,
    EVAL,
    IDLE,
    LAUNCH,
    STALLED,
    STRAGGLER,
    THROTTLED,
    UNEXPLAINED,
    entry_of_phase,
)

Split = dict[tuple[str, Origin], float]
"""Entry and how it is known → share of the time; they sum to 1."""

_UNKNOWN: tuple[str, Origin] = (UNEXPLAINED, "inferred")
_SPINNING = frozenset({COMM, STRAGGLER, STALLED, EVAL})
"""What the host is in and the GPU is busy with, or stuck in: collectives spin on it."""
_BUSY = _SPINNING | {COMPUTE, UNEXPLAINED}
"""The other entries cost a GPU only what it idles."""
_FULL_CORE = 0.9
_RUNS_AHEAD_RATIO = 0.05
_LOSSY = frozenset({"hw slowdown", "sw thermal slowdown", "hw thermal slowdown", "hw power brake"})
_AT_REST = "gpu idle"
_USUAL_LOSS_RATIO = 0.15
"""Less is what a healthy GPU shows, at its power limit too."""
_WORKS_POWER_RATIO = 0.6


class Load(msgspec.Struct, frozen=True):
    """What the counters of a GPU say of some time."""

    busy: float | None
    """Share of the time in which a kernel ran."""
    sm: float | None = None
    """SM activity."""
    power: float | None = None
    """Of its limit."""
    slowed: float = 0.0
    """Share of its clocks that it lacks."""

    @property
    def hollow(self) -> bool:
        """It was busy with next to nothing. SM activity may stay at 0 after some errors, which power tells."""
        if self.sm is not None:
            return self.sm <= IDLE_RATIO and (self.power or 0.0) < _WORKS_POWER_RATIO
        return self.power is not None and self.power < IDLE_POWER_RATIO


UNREAD = Load(None)


def host_split(rank: RankFrame) -> Split:
    """What a rank's host did since the frame before, by the best witness there is."""
    found: Split = {}
    if rank.phases:
        found = by_entry(rank.phases, "measured")
    elif rank.phases_sampled and rank.phase_source == "sampled":
        found = by_entry(rank.phases_sampled, "sampled")
    elif rank.phase is not None and rank.phase_source in ("sampled", "inferred"):
        add(found, (entry_of_phase(rank.phase), rank.phase_source), 1.0)
    return found or {_UNKNOWN: 1.0}


def by_entry(phases: Mapping[str, float], origin: Origin) -> Split:
    """Shares of phases as entries, made to sum to 1; empty where they say nothing."""
    whole = sum(share for share in phases.values() if share > 0)
    if not 0 < whole < math.inf:
        return {}
    found: Split = {}
    for phase, share in phases.items():
        if share > 0:
            add(found, (entry_of_phase(phase), origin), share / whole)
    return found


def device_split(host: Split, load: Load, *, launch_bound: bool) -> Split:
    """What the same time was to the GPU.

    Args:
        host: of the rank that is on it; shares or seconds, as what is returned.
        load: over the same time.
        launch_bound: its host fills a core and is not ahead of it.
    """
    if load.busy is None:
        return _by_word_alone(host)
    whole = sum(host.values())
    idle = (1.0 - load.busy) * whole
    unknown = host.get(_UNKNOWN, 0.0)
    compute = sum(share for (name, _), share in host.items() if name == COMPUTE)
    found, hidden = _waits(host, idle)
    idle -= sum(found.values())
    found.update({key: share for key, share in host.items() if key[0] in _SPINNING})
    idle_unknown = min(idle, unknown)
    gap = min(idle - idle_unknown, compute)
    add(found, _UNKNOWN, idle_unknown)
    add(found, (LAUNCH, "inferred") if launch_bound else _UNKNOWN, gap)
    _add_compute(found, compute + hidden + unknown - idle_unknown - gap, load)
    return found


def _waits(host: Split, idle: float) -> tuple[Split, float]:
    """What the GPU idles in the waits of its host; and how much of them its work hides."""
    waits = {key: share for key, share in host.items() if key[0] not in _BUSY}
    whole = sum(waits.values())
    part = min(1.0, idle / whole) if whole > 0 else 0.0
    return {key: share * part for key, share in waits.items() if part}, whole * (1.0 - part)


def _by_word_alone(host: Split) -> Split:
    """No counter says what the GPU did: computing that no probe has seen is not believed."""
    found: Split = {}
    for (name, origin), share in host.items():
        believed = name != COMPUTE or origin == "measured"
        add(found, (name if believed else UNEXPLAINED, "inferred"), share)
    return found


def _add_compute(split: Split, share: float, load: Load) -> None:
    if load.hollow:
        add(split, _UNKNOWN, share)
        return
    add(split, (THROTTLED, "inferred"), share * load.slowed)
    add(split, (COMPUTE, "inferred"), share * (1.0 - load.slowed))


def add(split: Split, key: tuple[str, Origin], share: float) -> None:
    """More of one thing."""
    if share > 0:
        split[key] = split.get(key, 0.0) + share


def load_of(gpu: GpuFrame, frame: Frame, top_hertz: float) -> Load:
    """Of this frame.

    Args:
        gpu: whose.
        frame: in which its peers are.
        top_hertz: the highest SM clock in it.
    """
    if gpu.status != "ok" or gpu.utilization_ratio is None:
        return UNREAD
    slowed = _slowed(gpu, frame) if (gpu.sm_clock_hertz or 0.0) < top_hertz else 0.0
    return Load(_ratio(gpu.utilization_ratio), gpu.sm_active_ratio, _power_of(gpu), slowed)


def is_launch_bound(rank: RankFrame) -> bool:
    """Its main thread fills a core, and is not ahead of the GPU where that is known."""
    if rank.activity is None or (rank.activity.cpu_cores or 0.0) < _FULL_CORE:
        return False
    step, ahead = rank.step_p50_seconds, rank.run_ahead_seconds
    return not step or ahead is None or ahead < _RUNS_AHEAD_RATIO * step


def _power_of(gpu: GpuFrame) -> float | None:
    watts, limit = gpu.power_watts, gpu.power_limit_watts
    return watts / limit if watts is not None and limit else None


def _slowed(gpu: GpuFrame, frame: Frame) -> float:
    """A slowdown counts from its first hertz on; without one a GPU may run a little below its peers."""
    reasons = gpu.throttle_reasons or ()
    if _AT_REST in reasons:
        return 0.0
    lossy = not _LOSSY.isdisjoint(reasons)
    own = gpu.sm_clock_application_hertz or gpu.sm_clock_max_hertz
    loss = clock_loss(gpu, peer_clock(gpu, frame) or (own if lossy else None)) or 0.0
    return _ratio(loss) if lossy or loss > _USUAL_LOSS_RATIO else 0.0


def _ratio(value: float) -> float:
    return min(1.0, max(0.0, value)) if not math.isnan(value) else 0.0


def idle_split(load: Load) -> Split:
    """Of a GPU on which no rank is known: what it computes is somebody's, and the rest is idle."""
    found: Split = {}
    if load.busy is None:
        return {_UNKNOWN: 1.0}
    add(found, (IDLE, "measured"), 1.0 - load.busy)
    add(found, _UNKNOWN if load.hollow else (COMPUTE, "inferred"), load.busy)
    return found
