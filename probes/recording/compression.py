"""Zstandard, which is loaded when something is recorded or read, and never at the start of the program."""

from __future__ import annotations

import sys

LEVEL = 3
"""Levels above 6 gain nothing, and lower ones lose a fifth."""


class CompressionError(Exception):
    """The bytes are not what was compressed. The text is one clause for people."""


def compress(data: bytes) -> bytes:
    """One whole frame."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data, level=LEVEL)


def decompress(data: bytes, size: int) -> bytes:
    """What was compressed, which must be exactly ``size`` bytes: nothing can make it grow beyond.

    Raises:
        CompressionError: when it is something else.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    decompressor = zstd.ZstdDecompressor()
    try:
        plain = decompressor.decompress(data, max_length=size)
    except zstd.ZstdError as error:
        raise CompressionError(str(error)) from error
    if len(plain) != size or not decompressor.eof or decompressor.unused_data:
        raise CompressionError("its length is not what it announces")
    return plain
