"""Texts that a Python object of another process holds: its own where it is one, else those of its attributes.

What is read is the memory of CPython's objects as 3.9 to 3.14 lay them out on 64 bits; where it looks otherwise,
nothing is found. Whoever asks has to prove a text by what it is a name of.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

_WORD = struct.Struct("=Q")
_BEFORE, _AFTER = 32, 192
"""Attributes lie behind an object's head, or are pointed to from shortly before it."""
_TYPE_NAME = 24
_TEXT_HEADS = (40, 48)
"""Bytes before the characters of a compact ASCII text: from 3.12 on, and before."""
_MOST_CHARS = 1024
_MOST_OBJECTS = 400
_LOWEST = 1 << 16
_HIGHEST = 1 << 47


class ObjectTexts:
    """Reads one process.

    Args:
        memory: descriptor of its ``/proc/PID/mem``.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._names: dict[int, bytes] = {}
        """Of types."""
        self._looked: set[int] = set()

    def of(self, address: int) -> list[str]:
        """The texts of the object there, its own first, then those one and two steps away."""
        found: list[str] = []
        ahead = [address]
        for _ in range(3):
            further: list[int] = []
            for each in ahead:
                if each in self._looked or len(self._looked) >= _MOST_OBJECTS:
                    continue
                self._looked.add(each)
                text = self._text(each)
                if text is None:
                    further += self._pointers(each)
                else:
                    found.append(text)
            ahead = further
        return found

    def _text(self, address: int) -> str | None:
        """``None`` where no plain text is there."""
        head = self._read(address, 24)
        if len(head) < 24:
            return None
        _, kind, length = struct.unpack("=QQQ", head)
        if self._type_name(kind) != b"str" or not 0 < length <= _MOST_CHARS:
            return None
        return next(
            (text for size in _TEXT_HEADS if (text := self._chars(address + size, length))), ""
        )

    def _chars(self, address: int, length: int) -> str:
        data = self._read(address, length + 1)
        whole = len(data) == length + 1 and data.endswith(b"\0")
        text = data[:-1]
        return text.decode("ascii") if whole and text.isascii() and b"\0" not in text else ""

    def _type_name(self, kind: int) -> bytes:
        if kind not in self._names:
            pointer = self._read(kind + _TYPE_NAME, 8)
            at = _WORD.unpack(pointer)[0] if len(pointer) == 8 else 0
            self._names[kind] = self._read(at, 16).split(b"\0")[0]
        return self._names[kind]

    def _pointers(self, address: int) -> Iterator[int]:
        data = self._read(address - _BEFORE, _BEFORE + _AFTER)
        whole = len(data) - len(data) % 8
        for (word,) in _WORD.iter_unpack(data[:whole]):
            pointer = word & ~7  # some carry a mark in their lowest bits
            if _LOWEST < pointer < _HIGHEST:
                yield pointer

    def _read(self, address: int, count: int) -> bytes:
        if not _LOWEST < address < _HIGHEST:
            return b""
        try:
            return os.pread(self._memory, count, address)
        except OSError:
            return b""
