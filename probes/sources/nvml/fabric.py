"""The NVSwitch fabric that a GPU belongs to: whether it has joined, and how the fabric fares."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

from ...model.missing_reasons import NO_FABRIC, NOT_OFFERED
from ...model.vocabulary import FABRIC_JOINED, FABRIC_WELL
from .call import Answer, Calls, Fields

FABRIC_FIELDS = ("fabric_state", "fabric_health")
_STATES = {1: "not started", 2: "in progress", 3: FABRIC_JOINED}
_SUMMARIES = {1: FABRIC_WELL, 2: "unhealthy", 3: "limited capacity"}
_DEGRADED_BANDWIDTH = 1
_BANDWIDTH_MASK = 0x3
_SUCCESS = 0


def read_fabric(calls: Calls, fields: Fields) -> None:
    """State and health, by the newest revision that this driver and its binding have."""
    answer = _ask(calls)
    info = answer.value
    if info is None:
        fields.absent(answer.reason, *FABRIC_FIELDS)
        return
    state = _STATES.get(info.state)
    if state is None:
        fields.absent(NO_FABRIC, *FABRIC_FIELDS)
        return
    if info.status != _SUCCESS:
        state = f"failed (error {info.status})"
    fields.put("fabric_state", Answer(state))
    fields.put("fabric_health", _health(info))


def _ask(calls: Calls) -> Answer[Any]:
    nvml = calls.nvml
    answer: Answer[Any] = Answer(None, NOT_OFFERED)
    for revision in ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t"):
        kind = getattr(nvml, revision, None)
        ask = getattr(nvml, "nvmlDeviceGetGpuFabricInfoV", None)
        if kind is None or ask is None:
            continue
        info = kind()
        answer = calls.run(revision, partial(ask, calls.handle, ctypes.byref(info)))
        if answer.value is not None:
            return Answer(info)
    return answer


def _health(info: Any) -> Answer[str]:
    if info.healthMask & _BANDWIDTH_MASK == _DEGRADED_BANDWIDTH:
        return Answer("degraded bandwidth")
    summary = _SUMMARIES.get(getattr(info, "healthSummary", 0))
    return Answer(summary, "" if summary else "not reported by this driver")
