"""As much of protobuf's encoding as a trace needs: numbers, text and messages in messages."""

from __future__ import annotations

import struct

Value = int | float | str | bytes
"""A float is a double; bytes are a message."""

_VARINT, _DOUBLE, _BYTES = 0, 1, 2
_64_BITS = (1 << 64) - 1


def message(*fields: tuple[int, Value]) -> bytes:
    """Fields by their numbers."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | _DOUBLE) + struct.pack("<d", value)
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative number has all 64."""
    value &= _64_BITS
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
