"""How long each call of the driver takes, and which it does not support: a table as text on standard output."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pynvml

import gputop

TURNS = 15
_WITH_ARGUMENTS: dict[str, tuple[int, ...]] = {
    "nvmlDeviceGetTemperature": (0,),
    "nvmlDeviceGetTemperatureThreshold": (1,),
    "nvmlDeviceGetClockInfo": (1,),
    "nvmlDeviceGetMaxClockInfo": (1,),
    "nvmlDeviceGetApplicationsClock": (1,),
    "nvmlDeviceGetPcieThroughput": (1,),
    "nvmlDeviceGetTotalEccErrors": (0, 0),
    "nvmlDeviceGetViolationStatus": (0,),
    "nvmlDeviceGetNvLinkState": (0,),
    "nvmlDeviceGetNvLinkVersion": (0,),
    "nvmlDeviceGetNvLinkRemotePciInfo": (0,),
    "nvmlDeviceGetNvLinkRemoteDeviceType": (0,),
    "nvmlDeviceGetFanSpeed_v2": (0,),
    "nvmlDeviceGetProcessUtilization": (0,),
    "nvmlDeviceGetMigDeviceHandleByIndex": (0,),
    "nvmlDeviceGetRetiredPages": (0,),
}
_CALL = re.compile(r"nvmlDeviceGet\w+")
_FIELDS = (1, 3, 4, 6, 82, 83, 91, 138, 139, 140, 141, 142, 143, 185, 186, 197, 198, 230)


def names() -> list[str]:
    """Of all calls about a GPU that gputop makes, out of its own code."""
    folder = Path(gputop.__file__).parent / "probes/sources/nvml"
    found = {name for file in folder.glob("*.py") for name in _CALL.findall(file.read_text())}
    return sorted(
        name for name in found if not name.startswith(("nvmlDeviceGetHandle", "nvmlDeviceGetCount"))
    )


def timed(call: Callable[[], object]) -> tuple[list[float], str]:
    """Seconds of each turn, and what the driver refused with."""
    seconds: list[float] = []
    refusal = ""
    for _ in range(TURNS):
        began = time.perf_counter()
        try:
            call()
        except pynvml.NVMLError as error:
            refusal = str(error)
        except Exception as error:  # noqa: BLE001 - a binding that wants other arguments
            return [], f"not tried: {type(error).__name__}: {error}"
        seconds.append(time.perf_counter() - began)
    return seconds, refusal


def rows() -> Iterator[tuple[float, str]]:
    """Longest median and the line that tells it."""
    pynvml.nvmlInit()
    handle: Any = pynvml.nvmlDeviceGetHandleByIndex(0)
    calls: dict[str, Callable[[], object]] = {}
    for name in names():
        function = getattr(pynvml, name, None)
        if function is None:
            yield 0.0, f"{name:48} this binding has none"
        else:
            arguments = _WITH_ARGUMENTS.get(name, ())
            calls[name] = lambda f=function, a=arguments: f(handle, *a)
    for field in _FIELDS:
        calls[f"field {field}"] = lambda f=field: _field(handle, f)
    calls["all these fields at once"] = lambda: pynvml.nvmlDeviceGetFieldValues(
        handle, list(_FIELDS)
    )
    for name, call in calls.items():
        seconds, refusal = timed(call)
        figures = (
            f"{median(seconds) * 1e6:9.0f} µs  at most {max(seconds) * 1e6:9.0f} µs"
            if seconds
            else " " * 12
        )
        yield (median(seconds) if seconds else 0.0), f"{name:48} {figures}  {refusal}"


def _field(handle: Any, field: int) -> None:
    (value,) = pynvml.nvmlDeviceGetFieldValues(handle, [field])
    if value.nvmlReturn:
        raise pynvml.NVMLError(value.nvmlReturn)


if __name__ == "__main__":
    for _, line in sorted(rows(), reverse=True):
        print(line)
