"""Whole numbers that are alike, in few bytes: as distances from the least, lowest bytes first, then the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_WIDTH = 8
_LARGEST = 2**62


def pack(values: Sequence[int]) -> list[Any]:
    """The least, the bytes of each, and the bytes of all: first the lowest of each number.

    High bytes hardly ever change, so zstd makes next to nothing of them.

    Raises:
        ValueError: where they are too large, or too far from each other.
    """
    least, most = min(values, default=0), max(values, default=0)
    width = (most - least).bit_length() // 8 + 1
    if width > MOST_WIDTH or least < -_LARGEST or most > _LARGEST:
        raise ValueError("a number is too large for a column")
    data = b"".join((value - least).to_bytes(width, "little") for value in values)
    return [least, width, b"".join(data[at::width] for at in range(width))]


def unpack(packed: Sequence[Any]) -> list[int]:
    """The values.

    Raises:
        ValueError: where these are no packed numbers.
    """
    least, width, data = packed
    if type(least) is not int or type(width) is not int or type(data) is not bytes:
        raise ValueError("a column is none")
    if not 1 <= width <= MOST_WIDTH or len(data) % width:
        raise ValueError("a column is cut off")
    count = len(data) // width
    found = [least] * count
    for at in range(width):
        plane = data[at * count : (at + 1) * count]
        if any(plane):
            found = [value + (byte << 8 * at) for value, byte in zip(found, plane, strict=True)]
    return found
