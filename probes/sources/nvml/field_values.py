"""Many values in one call: nvmlDeviceGetFieldValues, each value with its own return code."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...model.missing_reasons import NO_VALUE, NOT_OFFERED
from .call import Answer, Calls

Field = tuple[int, int]
"""Field id and scope: 0, a link, or `ALL_LINKS`."""

ALL_LINKS = 0xFFFFFFFF

ECC_MODE: Field = (1, 0)
ECC_CORRECTED: Field = (3, 0)
ECC_UNCORRECTED: Field = (4, 0)
ECC_UNCORRECTED_LIFETIME: Field = (6, 0)
RETIRED_CORRECTED: Field = (29, 0)
RETIRED_UNCORRECTED: Field = (30, 0)
RETIRED_PENDING: Field = (31, 0)
MEMORY_TEMPERATURE: Field = (82, 0)
ENERGY: Field = (83, 0)
NVLINK_COUNT: Field = (91, 0)
PCIE_REPLAYS: Field = (94, 0)
NVLINK_TX_KIB: Field = (138, ALL_LINKS)
NVLINK_RX_KIB: Field = (139, ALL_LINKS)
REMAPPED_CORRECTED: Field = (142, 0)
REMAPPED_UNCORRECTED: Field = (143, 0)
REMAP_PENDING: Field = (144, 0)
REMAP_FAILED: Field = (145, 0)
POWER_AVERAGE: Field = (185, 0)
POWER_INSTANT: Field = (186, 0)
POWER_LIMIT_DEFAULT: Field = (189, 0)
POWER_LIMIT_NOW: Field = (190, 0)
SHUTDOWN_MARGIN: Field = (193, 0)
SLOWDOWN_MARGIN: Field = (194, 0)
MEMORY_MAX_MARGIN: Field = (195, 0)
PCIE_TX_BYTES: Field = (197, 0)
PCIE_RX_BYTES: Field = (198, 0)
RECOVERY_ACTION: Field = (230, 0)
BANK_REMAP_PENDING: Field = (307, 0)

LINK_TX_KIB, LINK_RX_KIB = 138, 139
LINK_REPLAYS, LINK_RECOVERIES, LINK_CRC_ERRORS = 161, 162, 163
LINK_SPEED, LINK_STATE, LINK_VERSION = 164, 165, 166
LINK_TX_BYTES, LINK_RX_BYTES = 202, 204
"""Ids whose scope is the link. The last two are what NVLink 5 counts instead of the first two."""

_ENTRY = struct.Struct("IIqqII8s")
"""nvmlFieldValue_t: id, scope, timestamp and latency in microseconds, type, return code, value."""
_ANSWER = struct.Struct("8xq8xII8s")
"""What of it is not known before."""
# By NVML's numbers of types: unsigned int, long, long long, signed long long, int, short. Type 0 is a
# double, which no field that is asked for here can be.
_TYPES = {kind: struct.Struct(letter) for kind, letter in enumerate("ILQqiH", start=1)}
_DOUBLE = 0
_NO_NUMBER = b"\0" * 8

_INVALID_ARGUMENT = 2
_MOST_AT_ONCE = 100
_SOME_SECONDS = 600.0


class Values:
    """The answers by field, and the driver's timestamp of each in microseconds."""

    def __init__(self) -> None:
        self.numbers: dict[Field, Any] = {}
        self.stamps: dict[Field, int] = {}
        self._reasons: dict[Field, str] = {}

    def __getitem__(self, field: Field) -> Answer[Any]:
        number = self.numbers.get(field)
        return Answer(number, "" if number is not None else self._reasons.get(field, NO_VALUE))

    def first(self, *fields: Field) -> Answer[Any]:
        """The first answer with a value, else the last one."""
        for field in fields[:-1]:
            if field in self.numbers:
                return self[field]
        return self[fields[-1]]

    def refused(self, fields: Sequence[Field], reason: str) -> None:
        """None of ``fields`` has a value, for this reason."""
        self._reasons.update(dict.fromkeys(fields, reason))

    def add(self, other: Values) -> None:
        """Take over the answers of another call."""
        self.numbers |= other.numbers
        self.stamps |= other.stamps
        self._reasons |= other._reasons


def read_fields(calls: Calls, fields: Sequence[Field]) -> Values:
    """Ask for all of ``fields`` that are not known to be refused."""
    values = Values()
    wanted: list[Field] = []
    for field in fields:
        if reason := calls.refusal(field):
            values.refused((field,), reason)
        else:
            wanted.append(field)
    for start in range(0, len(wanted), _MOST_AT_ONCE):
        _read_some(calls, wanted[start : start + _MOST_AT_ONCE], values)
    return values


def _read_some(calls: Calls, fields: list[Field], values: Values) -> None:
    answer = calls.run("nvmlDeviceGetFieldValues", lambda: _entries(calls, fields))
    if answer.value is None:
        values.refused(fields, answer.reason)
        return
    for field, (stamp, kind, code, number) in zip(
        fields, _ANSWER.iter_unpack(answer.value), strict=True
    ):
        if code:
            values.refused((field,), _refusal(calls, field, code))
        elif kind not in _TYPES:
            what = "a double" if kind == _DOUBLE else f"a value of type {kind}"
            values.refused((field,), f"driver gave {what} where a whole number belongs")
        else:
            (values.numbers[field],) = _TYPES[kind].unpack_from(number)
            values.stamps[field] = stamp


def _entries(calls: Calls, fields: list[Field]) -> bytes:
    nvml = calls.nvml
    function = getattr(nvml.nvmlLib, "nvmlDeviceGetFieldValues", None)
    if function is None:
        raise nvml.NVMLError(nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    request = _request(tuple(fields))
    buffer = ctypes.create_string_buffer(request, len(request))
    code = function(calls.handle, len(fields), buffer)
    if code:
        raise nvml.NVMLError(code)
    return buffer.raw


@lru_cache(maxsize=64)
def _request(fields: tuple[Field, ...]) -> bytes:
    # The same few questions are asked at each tick.
    return b"".join(_ENTRY.pack(id_, scope, 0, 0, 0, 0, _NO_NUMBER) for id_, scope in fields)


def _refusal(calls: Calls, field: Field, code: int) -> str:
    if code == _INVALID_ARGUMENT:
        # How drivers answer that do not know the id yet.
        return calls.refuse(field, NOT_OFFERED, _SOME_SECONDS).reason
    return calls.judge(field, code).reason
