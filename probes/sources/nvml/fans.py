"""The fans of a board: most of those in servers have none, and are cooled by the case."""

from __future__ import annotations

from ctypes import byref

from ...model.missing_reasons import NO_FANS, NO_VALUE, NOT_OFFERED
from .call import Answer, Calls, Fields
from .units import count, ratio

_MOST_FANS = 8
_PER_CENT_IMPOSSIBLE = 200
_PER_MINUTE_IMPOSSIBLE = 100_000
_VALUES = ("fan_speed_ratio", "fan_rotations_per_second")


def read_fans(calls: Calls, fields: Fields, fans: int | None, why_unknown: str) -> None:
    """The slowest fan, as the driver intends it: nvml.h says that a blocked fan shows in neither number.

    Args:
        calls: of the board.
        fields: takes up the values.
        fans: how many there are.
        why_unknown: the reason where that is not known.
    """
    if not fans:
        fields.absent(NO_FANS if fans == 0 else why_unknown, *_VALUES)
        return
    numbers = range(min(fans, _MOST_FANS))
    speeds = [calls.ask("nvmlDeviceGetFanSpeed_v2", fan).then(_speed) for fan in numbers]
    fields.put("fan_speed_ratio", _slowest(speeds))
    rotations = [_intended_rotations(calls, fan).then(_rotations) for fan in numbers]
    fields.put("fan_rotations_per_second", _slowest(rotations))


def _slowest(fans: list[Answer[float]]) -> Answer[float]:
    known = [fan.value for fan in fans if fan.value is not None]
    return Answer(min(known)) if known else fans[0]


def _speed(percent: int) -> Answer[float]:
    """NVML says that it may exceed 100 % "in certain cases"."""
    return Answer(1.0) if 100 < percent <= _PER_CENT_IMPOSSIBLE else ratio(percent)


def _rotations(per_minute: int) -> Answer[float]:
    sane = per_minute <= _PER_MINUTE_IMPOSSIBLE
    return count(per_minute).then(lambda rpm: Answer(rpm / 60) if sane else Answer(None, NO_VALUE))


def _intended_rotations(calls: Calls, fan: int) -> Answer[int]:
    """The binding's own function asks for the first fan only."""
    nvml = calls.nvml
    if not hasattr(nvml, "c_nvmlFanSpeedInfo_t"):
        return Answer(None, NOT_OFFERED)

    def ask() -> int:
        info = nvml.c_nvmlFanSpeedInfo_t()
        info.version, info.fan = nvml.nvmlFanSpeedInfo_v1, fan
        function = nvml._nvmlGetFunctionPointer("nvmlDeviceGetFanSpeedRPM")
        nvml._nvmlCheckReturn(function(calls.handle, byref(info)))
        return int(info.speed)

    return calls.run(("nvmlDeviceGetFanSpeedRPM", fan), ask)
