"""The index of a segment, got by reading the heads alone: it is no file of its own that could be lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from .errors import DamagedBlock
from .format import (
    MAGIC,
    MAX_HEAD_BYTES,
    PREFIX_BYTES,
    Announced,
    Head,
    announced,
    check_data,
    head_of,
)

_READ_BYTES = 1024
"""Prefix and head of most blocks in one read."""
_SEARCH_BYTES = 256 * 1024


class Place(NamedTuple):
    """Where a block lies, and what it says about itself."""

    begin: int
    said: Announced
    head: Head

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.begin + self.said.block_bytes

    @property
    def after_head(self) -> int:
        """The first byte of its data."""
        return self.begin + PREFIX_BYTES + self.said.head_bytes


class Index(NamedTuple):
    """The blocks of a segment in their order."""

    places: tuple[Place, ...]
    lost_bytes: int
    """Bytes that belong to no whole block: damage, or the end of a recorder that was killed."""


def scan(descriptor: int, *, search_limit: int | None = None) -> Index:
    """Find the blocks of an open segment.

    Args:
        descriptor: of the file.
        search_limit: bytes within which the first block must begin; ``None``: anywhere.

    Raises:
        OSError: when it cannot be read.
    """
    size = os.fstat(descriptor).st_size
    places = list(_places(descriptor, size, search_limit))
    return Index(tuple(places), size - sum(place.said.block_bytes for place in places))


def _places(descriptor: int, size: int, search_limit: int | None) -> Iterator[Place]:
    found = _first_place(descriptor, size if search_limit is None else min(size, search_limit))
    while found is not None:
        after = place_at(descriptor, found.end) if found.end < size else None
        if after is None and found.end != size:
            # Bytes may be missing from it: then the next one begins inside of it.
            after = _next_place(descriptor, found.after_head, size)
        if found.end <= (size if after is None else after.begin):
            yield found
        found = after


def _first_place(descriptor: int, end: int) -> Place | None:
    return place_at(descriptor, 0) or _next_place(descriptor, 1, end)


def place_at(descriptor: int, position: int) -> Place | None:
    """The block whose head begins there, or ``None``.

    Raises:
        OSError: when it cannot be read.
    """
    data = os.pread(descriptor, _READ_BYTES, position)
    said = announced(data)
    if said is None:
        return None
    needed = PREFIX_BYTES + said.head_bytes
    if len(data) < needed:
        data += os.pread(descriptor, needed - len(data), position + len(data))
    head = head_of(data[:PREFIX_BYTES], data[PREFIX_BYTES:needed])
    return None if head is None else Place(position, said, head)


def _next_place(descriptor: int, start: int, end: int) -> Place | None:
    """The first block that begins at ``start`` or later."""
    while start < end:
        data = os.pread(descriptor, _SEARCH_BYTES, start)
        found = data.find(MAGIC)
        while found >= 0:
            place = place_at(descriptor, start + found)
            if place is not None:
                return place
            found = data.find(MAGIC, found + 1)
        if len(data) < _SEARCH_BYTES:
            return None
        start += len(data) - len(MAGIC) + 1
    return None


def read_data(descriptor: int, place: Place) -> bytes:
    """The data of a block, proven to be what was written.

    Raises:
        OSError: when it cannot be read.
        DamagedBlock: when it is something else.
    """
    length = place.said.head_bytes + place.said.data_bytes
    both = os.pread(descriptor, length, place.begin + PREFIX_BYTES)
    if len(both) != length:
        raise DamagedBlock("a block ends before its end")
    head, data = both[: place.said.head_bytes], both[place.said.head_bytes :]
    check_data(place.said, head, data)
    return data


assert MAX_HEAD_BYTES + PREFIX_BYTES < _SEARCH_BYTES
