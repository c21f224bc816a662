"""Whether a GPU only spins: busy by the driver's word, with little of the chip at work, flat and silent.

A rank whose GPU spins waits for another one, whatever its host thread is seen to do.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...probes.model.gpu_frames import GpuFrame
from ..history import History
from ..rule import Threshold
from ..series import Series
from ._activity import BUSY_RATIO, LOW_SM_RATIO, Activity, activity

SPINNING: Mapping[str, Threshold] = {
    "utilization_ratio": Threshold(BUSY_RATIO, "ratio", "ours; nvsonar says 0.8"),
    "sm_active_ratio": Threshold(LOW_SM_RATIO, "ratio", "ours: root-cause it"),
    "power_ratio": Threshold(0.40, "ratio", "nvsonar; nccl#968 saw 70 W on a spinning GPU"),
    "power_spread_ratio": Threshold(0.05, "ratio", "ours"),
    "link_bytes_per_second": Threshold(
        100e6, "bytes_per_second", "ours; a rank that trains moves gigabytes"
    ),
    "window_seconds": Threshold(10.0, "seconds", "ours"),
}
_BUSY_POWER_RATIO = 0.6
_LEAST_COVERED_RATIO = 0.5
_LONGER = (12.0, 6.0, 3.0)
"""Multiples of the window over which it is looked at too, to tell for how long it has spun."""
_LINKS = tuple(
    f"{kind}_{way}_bytes_per_second" for kind in ("pcie", "nvlink") for way in ("rx", "tx")
)


def spin_seconds(gpu: GpuFrame, history: History) -> float:
    """For how long it has spun at least; 0 where it does not, or not enough is known."""
    limit = {name: threshold.value for name, threshold in SPINNING.items()}
    window = limit["window_seconds"]
    if gpu.status != "ok" or not _spins(gpu, history, limit, window):
        return 0.0
    return next(
        (times * window for times in _LONGER if _spins(gpu, history, limit, times * window)),
        window,
    )


def idle_inside(seen: Activity, limit: Mapping[str, float]) -> bool:
    """Little of the chip works, or it draws little power."""
    if seen.sm is None:
        return seen.power is not None and seen.power < limit["power_ratio"]
    warm = seen.power is not None and seen.power >= _BUSY_POWER_RATIO
    return seen.sm < limit["sm_active_ratio"] and not warm


def power_flat(gpu: GpuFrame, history: History, limit: Mapping[str, float], seconds: float) -> bool:
    """Its power has not moved for so long."""
    watts = _whole(history.gpu(gpu.index, "power_watts"), seconds)
    return bool(watts) and max(watts) - min(watts) <= limit["power_spread_ratio"] * max(watts)


def links_silent(
    gpu: GpuFrame, history: History, limit: Mapping[str, float], seconds: float
) -> bool:
    """All links that can be read carry nothing; unknown where none can be read."""
    known = [link for link in _LINKS if getattr(gpu, link) is not None]
    series = [_whole(history.gpu(gpu.index, link), seconds) for link in known]
    most = limit["link_bytes_per_second"]
    return bool(known) and all(rates and max(rates) < most for rates in series)


def _spins(gpu: GpuFrame, history: History, limit: Mapping[str, float], seconds: float) -> bool:
    seen = activity(gpu, history, seconds)
    return (
        seen.utilization is not None
        and seen.utilization >= limit["utilization_ratio"]
        and idle_inside(seen, limit)
        and power_flat(gpu, history, limit, seconds)
        and links_silent(gpu, history, limit, seconds)
    )


def _whole(series: Series, seconds: float) -> list[float]:
    """Its values, where they cover most of the time: few are no witness."""
    covered = series.covered(seconds) >= _LEAST_COVERED_RATIO * seconds
    return series.window(seconds) if covered else []
