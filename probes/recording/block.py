"""The unit of a recording: some samples that can be read without any other.

Magic, lengths, two CRC32, head, data. The head tells time, node, boot and versions, so that
a file is indexed by its heads alone; the data is a zstd frame of MessagePack. A bit that flips costs one
block: whoever reads goes on at the next magic.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, cast
from zlib import crc32

import msgspec

from ... import __version__
from ..model.mark import Mark
from ..model.sample import WIRE_SCHEMA_VERSION, Sample
from .difference import applied, difference
from .spans import TYPE, Columns, packed, unpacked
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
    differences: bool = False
    """All samples but the first are what differs from that one."""
    marks: tuple[Mark, ...] | None = None
    """Those in it, so that one can go to a finding without reading all of a day; ``None``: they are in the
    data alone, for there are too many, or an early program wrote it."""


class BadBlock(Exception):
    """Its bytes are not what was written. The text is one clause for people."""


class NewerSchema(BadBlock):
    """A later program wrote it."""


_encode = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(Head).decode
_decode_any = msgspec.msgpack.Decoder(list[Any]).decode
_ENTRY: Any = Entry
_decode_entries = msgspec.msgpack.Decoder(list[Entry]).decode


def encode(entries: Sequence[Entry], *, thinned: bool = False) -> bytes:
    """A block of these; at least one is a sample, and all are of one node and boot."""
    block = OpenBlock()
    columns: list[Columns] = []
    if thinned:
        entries, columns = _with_columns(entries)
    for entry in entries:
        block.add(entry)
    return block.finish(thinned=thinned, columns=columns)


def _with_columns(entries: Sequence[Entry]) -> tuple[list[Entry], list[Columns]]:
    """The same with the spans in columns, which takes time that nobody has while they come."""
    bare, columns = packed([entry for entry in entries if isinstance(entry, Sample)])
    left = iter(bare)
    return [next(left) if isinstance(entry, Sample) else entry for entry in entries], columns


class OpenBlock:
    """A block to which entries are still added. They are kept as bytes: objects take five times the memory."""

    def __init__(self) -> None:
        self.first: Sample | None = None
        """From which the others are told to differ."""
        self.last_seconds = 0.0
        """Unix time of the newest sample."""
        self._count = 0
        self._marks: list[Mark] = []
        self._encoded: list[msgspec.Raw] = []

    def add(self, entry: Entry) -> None:
        """One more, of the same node and boot as the others."""
        if isinstance(entry, Mark):
            self._marks.append(entry)
            self._encoded.append(msgspec.Raw(_encode(entry)))
            return
        first = self.first
        self.first = first or entry
        encoded = _encode(entry if first is None else difference(entry, first))
        self._encoded.append(msgspec.Raw(encoded))
        self._count += 1
        self.last_seconds = entry.time_seconds

    def finish(self, *, thinned: bool = False, columns: Sequence[Columns] = ()) -> bytes:
        """The block, in which at least one sample is."""
        assert self.first is not None
        about = Head(
            schema=WIRE_SCHEMA_VERSION,
            program=__version__,
            node=self.first.node,
            boot_id=self.first.boot_id,
            count=self._count,
            first_seconds=self.first.time_seconds,
            last_seconds=self.last_seconds,
            thinned=thinned,
            differences=True,
            marks=tuple(self._marks),
        )
        head = _encode(about)
        if len(head) > MOST_HEAD_BYTES:
            head = _encode(msgspec.structs.replace(about, marks=None))
        data = compress(_encode([*self._encoded, *columns]))
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


def _whole(all_entries: list[Any]) -> list[Entry]:
    """The entries of a block of which the first sample alone is whole; a difference is a pair. Spans may be
    in columns.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: where one fits nothing.
    """
    entries = [each for each in all_entries if not _is_column(each)]
    columns = all_entries[len(entries) :]
    first = next(
        each for each in entries if not isinstance(each, list) and each["type"] == "sample"
    )
    differences = cast(
        "list[dict[str, Any] | tuple[dict[str, Any], dict[str, list[Any]]]]", entries
    )
    found: list[Entry] = [
        msgspec.convert(each if isinstance(each, dict) else applied(first, *each), _ENTRY)
        for each in differences
    ]
    if not columns:
        return found
    whole = iter(unpacked([each for each in found if isinstance(each, Sample)], columns))
    return [next(whole) if isinstance(each, Sample) else each for each in found]


def _is_column(entry: object) -> bool:
    return isinstance(entry, dict) and cast("dict[str, Any]", entry)["type"] == TYPE


def newer(head: Head) -> str:
    """One clause on a block that this program is too old for."""
    return (
        f"gputop {head.program} wrote it with sample schema {head.schema}, this one reads up to "
        f"{WIRE_SCHEMA_VERSION}: install that version"
    )


def entries_of(block: bytes) -> list[Entry]:
    """What is in a block that never left this process.

    Raises:
        BadBlock: where its bytes are not what was made.
    """
    _, head_bytes, data_bytes, data_crc, head_crc = FRAME.unpack_from(block)
    data_at = FRAME.size + head_bytes
    head = decode_head(block[FRAME.size : data_at], data_bytes, data_crc, head_crc)
    return decode(head, data_crc, block[data_at:])


def decode(head: Head, data_crc: int, data: bytes) -> list[Entry]:
    """What is in a block.

    Raises:
        BadBlock: where its bytes are not what was written.
        NewerSchema: where this program is too old for it.
    """
    if head.schema > WIRE_SCHEMA_VERSION:
        raise NewerSchema(newer(head))
    if crc32(data) != data_crc:
        raise BadBlock("its checksum is wrong")
    try:
        plain = decompress(data)
        return _whole(_decode_any(plain)) if head.differences else _decode_entries(plain)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        StopIteration,
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
    ) as error:
        raise BadBlock(f"its data is damaged: {error}") from error
