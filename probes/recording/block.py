"""The unit of a recording: some samples that can be read without any other.

Magic, lengths, two CRC32, head, data. The head tells time, node, boot and versions, so that
a file is indexed by its heads alone; the data is a zstd frame of MessagePack. A bit that flips costs one
block: whoever reads goes on at the next magic.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from zlib import crc32

import msgspec

from ... import __version__
from ..model.mark import Mark
from ..model.sample import WIRE_SCHEMA_VERSION, Sample
from .zstd import compress, decompress

MAGIC = b"\x89GTOP\r\n\x1a"
"""Like PNG's: a copy that changes line ends, or drops the high bit, breaks it at once."""
FRAME = struct.Struct(">8sIIII")
"""Magic, bytes of the head, bytes of the data, CRC32 of the data, CRC32 of these three and the head."""
_NUMBERS = struct.Struct(">III")
MOST_HEAD_BYTES = 1 << 16
MOST_DATA_BYTES = 64 << 20

Entry = Sample | Mark


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a block without its data."""

    schema: int
    """Of the samples."""
    program: str
    node: str
    boot_id: str
    count: int
    """Of samples in it; marks are not counted."""
    first_seconds: float
    """Unix time of the first of them, and of the last."""
    last_seconds: float
    thinned: bool = False


class BadBlock(Exception):
    """Its bytes are not what was written. The text is one clause for people."""


class NewerSchema(BadBlock):
    """A later program wrote it."""


_encode = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(Head).decode
_decode_entries = msgspec.msgpack.Decoder(list[Entry]).decode


def encode(entries: Sequence[Entry], *, thinned: bool = False) -> bytes:
    """A block of these; at least one is a sample, and all are of one node and boot."""
    samples = [each for each in entries if isinstance(each, Sample)]
    head = _encode(
        Head(
            schema=WIRE_SCHEMA_VERSION,
            program=__version__,
            node=samples[0].node,
            boot_id=samples[0].boot_id,
            count=len(samples),
            first_seconds=samples[0].time_seconds,
            last_seconds=samples[-1].time_seconds,
            thinned=thinned,
        )
    )
    data = compress(_encode(list(entries)))
    data_crc = crc32(data)
    head_crc = _head_crc(head, len(data), data_crc)
    return FRAME.pack(MAGIC, len(head), len(data), data_crc, head_crc) + head + data


def _head_crc(head: bytes, data_bytes: int, data_crc: int) -> int:
    return crc32(head, crc32(_NUMBERS.pack(len(head), data_bytes, data_crc)))


def decode_head(head: bytes, data_bytes: int, data_crc: int, head_crc: int) -> Head:
    """The head of a block, which may be of any version.

    Raises:
        BadBlock: where it is none, or any of its numbers has changed.
    """
    if _head_crc(head, data_bytes, data_crc) != head_crc:
        raise BadBlock("its head is damaged")
    try:
        return _decode_head(head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBlock("its head is damaged") from error


def decode(head: Head, data_crc: int, data: bytes) -> list[Entry]:
    """What is in a block.

    Raises:
        BadBlock: where its bytes are not what was written.
        NewerSchema: where this program is too old for it.
    """
    if head.schema > WIRE_SCHEMA_VERSION:
        raise NewerSchema(
            f"gputop {head.program} wrote it with sample schema {head.schema}, this one reads up to "
            f"{WIRE_SCHEMA_VERSION}: install that version"
        )
    if crc32(data) != data_crc:
        raise BadBlock("its checksum is wrong")
    try:
        return _decode_entries(decompress(data))
    except (ValueError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBlock(f"its data is damaged: {error}") from error
