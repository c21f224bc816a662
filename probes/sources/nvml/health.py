"""What the driver knows of a GPU's memory errors and of what should be done about them."""

from __future__ import annotations

import ctypes
from typing import Any

from ...model.missing_reasons import NOT_OFFERED
from .call import Answer, Calls, Fields
from .field_values import (
    BANK_REMAP_PENDING,
    ECC_CORRECTED,
    ECC_MODE,
    ECC_UNCORRECTED,
    ECC_UNCORRECTED_LIFETIME,
    RECOVERY_ACTION,
    REMAP_FAILED,
    REMAP_PENDING,
    REMAPPED_CORRECTED,
    REMAPPED_UNCORRECTED,
    RETIRED_CORRECTED,
    RETIRED_PENDING,
    RETIRED_UNCORRECTED,
    Field,
    Values,
    read_fields,
)
from .names import RECOVERY_ACTIONS
from .units import count, flag, named

_UNREPAIRABLE = "nvmlDeviceGetUnrepairableMemoryFlag_v1"
_VERSION_1 = 8 | 1 << 24
"""Of a structure of eight bytes."""
_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_SINGLE_BIT, _DOUBLE_BIT = 0, 1

_ECC = (
    ("ecc_corrected", ECC_CORRECTED, (_CORRECTED, _VOLATILE)),
    ("ecc_uncorrected", ECC_UNCORRECTED, (_UNCORRECTED, _VOLATILE)),
    ("ecc_uncorrected_lifetime", ECC_UNCORRECTED_LIFETIME, (_UNCORRECTED, _AGGREGATE)),
)
_REMAPS = (
    ("remapped_rows_corrected", REMAPPED_CORRECTED, count),
    ("remapped_rows_uncorrected", REMAPPED_UNCORRECTED, count),
    ("remap_pending", REMAP_PENDING, flag),
    ("remap_failed", REMAP_FAILED, flag),
)
_FIELDS: tuple[Field, ...] = (
    ECC_MODE,
    RETIRED_CORRECTED,
    RETIRED_UNCORRECTED,
    RETIRED_PENDING,
    RECOVERY_ACTION,
    BANK_REMAP_PENDING,
    *(field for _, field, _ in _ECC),
    *(field for _, field, _ in _REMAPS),
)


def read_health(calls: Calls, fields: Fields) -> None:
    """ECC counters, remapped rows (Ampere and later) or retired pages (before), recovery action."""
    values = read_fields(calls, _FIELDS)
    _ecc(calls, fields, values)
    _remapped(calls, fields, values)
    _retired(calls, fields, values)
    action = values[RECOVERY_ACTION].then(count).then(named(RECOVERY_ACTIONS))
    fields.put("recovery_action", action)
    fields.put("bank_remap_pending", values[BANK_REMAP_PENDING].then(flag))
    _repairs(calls, fields)


def _repairs(calls: Calls, fields: Fields) -> None:
    """What only newer drivers tell: repairs that wait for a reset, and damage beyond repair."""
    pending = calls.ask("nvmlDeviceGetRepairStatus")
    fields.put("channel_repair_pending", pending.then(lambda both: flag(both[0])))
    fields.put("tpc_repair_pending", pending.then(lambda both: flag(both[1])))
    beyond = calls.run(_UNREPAIRABLE, lambda: _unrepairable(calls))
    fields.put("unrepairable_memory", beyond.then(flag))
    fields.put("sram_threshold_exceeded", _sram(calls).then(flag))


def _unrepairable(calls: Calls) -> int:
    """Past the binding, whose structure has a version in front of the flag, and so reads always 0.

    By NVML's header there is nothing but the flag. Where a driver keeps to the binding's structure
    instead, the version stays as it was and the flag follows it.
    """
    nvml = calls.nvml
    function = getattr(nvml.nvmlLib, _UNREPAIRABLE, None)
    if function is None:
        raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    words = (ctypes.c_uint * 2)(_VERSION_1, 0)
    code = function(calls.handle, ctypes.byref(words))
    if code:
        raise nvml.NVMLError(code)
    return words[1] if words[0] == _VERSION_1 else words[0]


def _sram(calls: Calls) -> Answer[int]:
    kind = getattr(calls.nvml, "c_nvmlEccSramErrorStatus_v1_t", None)
    if kind is None:
        return Answer(None, NOT_OFFERED)
    status = kind()
    ask = calls.nvml.nvmlDeviceGetSramEccErrorStatus
    asked = calls.run("sram errors", lambda: ask(calls.handle, ctypes.byref(status)) or True)
    return asked.then(lambda _: Answer(status.bThresholdExceeded))


def _ecc(calls: Calls, fields: Fields, values: Values) -> None:
    mode: Answer[Any] = values[ECC_MODE]
    if mode.value is None:
        mode = calls.ask("nvmlDeviceGetEccMode").then(_now)
    enabled = fields.put("ecc_enabled", mode.then(flag))
    if enabled is False:
        fields.absent("ECC is off", *(name for name, _, _ in _ECC))
        return
    for name, field, selectors in _ECC:
        answer = values[field]
        if answer.value is None:
            answer = calls.ask("nvmlDeviceGetTotalEccErrors", *selectors)
        fields.put(name, answer.then(count))


def _now(both: list[int]) -> Answer[int]:
    return Answer(both[0])


def _remapped(calls: Calls, fields: Fields, values: Values) -> None:
    rows: Answer[Any] = Answer(None)
    if all(values[field].value is None for _, field, _ in _REMAPS):
        rows = calls.ask("nvmlDeviceGetRemappedRows")
    for position, (name, field, rule) in enumerate(_REMAPS):
        if rows.value is None:
            fields.put(name, values[field].then(rule))
        else:
            fields.put(name, rule(rows.value[position]))


def _retired(calls: Calls, fields: Fields, values: Values) -> None:
    corrected, uncorrected = values[RETIRED_CORRECTED], values[RETIRED_UNCORRECTED]
    if corrected.value is None or uncorrected.value is None:
        corrected = _retired_by(calls, _SINGLE_BIT)
        uncorrected = _retired_by(calls, _DOUBLE_BIT)
    both = corrected.then(count).then(
        lambda single: uncorrected.then(count).then(lambda double: Answer(single + double))
    )
    fields.put("retired_pages", both)
    pending = values[RETIRED_PENDING]
    if pending.value is None:
        pending = calls.ask("nvmlDeviceGetRetiredPagesPendingStatus")
    fields.put("retired_pages_pending", pending.then(flag))


def _retired_by(calls: Calls, cause: int) -> Answer[int]:
    return calls.ask("nvmlDeviceGetRetiredPages", cause).then(lambda pages: Answer(len(pages)))
