"""The bytes of a recording: blocks that each decode alone, one after the other, and nothing else.

A block is a prefix of fixed length, a head in MessagePack, and data:

    magic 8 · format 1 · flags 1 · head length 2 · data length 4 · length before compression 4 ·
    CRC32 of head and data 4 · samples 4 · first and last Unix time 8 + 8 · CRC32 of prefix and head 4

all big-endian. The second checksum lets heads be believed without reading data, so that a day is
indexed in some milliseconds. The magic begins with bytes that no text in UTF-8 holds: nothing that a
process calls itself looks like a block.
"""

import struct
from zlib import crc32

import msgspec

from .errors import DamagedBlock
from .marks import Event

MAGIC = b"\xff\xfeGTOPB\n"
FORMAT_VERSION = 1
THINNED = 1
"""Flag: of ten samples one was kept."""
SUFFIX = ".gtop"
MAX_DATA_BYTES = 64 * 1024 * 1024
"""Of a block, before and after compression."""
MAX_SAMPLES = 100_000

_PREFIX = struct.Struct(">8sBBHIIIIdd")
_CHECK = struct.Struct(">I")
PREFIX_BYTES = _PREFIX.size + _CHECK.size
MAX_HEAD_BYTES = 0xFFFF


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a block says about itself."""

    schema_version: int
    """Of its samples."""
    program_version: str
    node: str
    boot_id: str = ""
    first_monotonic_seconds: float = 0.0
    last_monotonic_seconds: float = 0.0
    simulated: bool = False
    """Nothing in it is real."""
    events: tuple[Event, ...] = ()
    """What became of findings in it."""


class Announced(msgspec.Struct, frozen=True):
    """What a prefix says."""

    format_version: int
    flags: int
    head_bytes: int
    data_bytes: int
    plain_bytes: int
    check: int
    samples: int
    first_seconds: float
    last_seconds: float

    @property
    def block_bytes(self) -> int:
        """Of the whole block."""
        return PREFIX_BYTES + self.head_bytes + self.data_bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Head).decode


def pack(
    head: Head,
    data: bytes,
    *,
    plain_bytes: int,
    samples: int,
    first_seconds: float,
    last_seconds: float,
    thinned: bool,
) -> bytes:
    """One block. A head that is too long goes without its events: they are a help to find things."""
    body = _encode(head)
    if len(body) > MAX_HEAD_BYTES:
        body = _encode(msgspec.structs.replace(head, events=()))
    prefix = _PREFIX.pack(
        MAGIC,
        FORMAT_VERSION,
        THINNED if thinned else 0,
        len(body),
        len(data),
        plain_bytes,
        crc32(data, crc32(body)),
        samples,
        first_seconds,
        last_seconds,
    )
    return prefix + _CHECK.pack(crc32(body, crc32(prefix))) + body + data


def announced(prefix: bytes) -> Announced | None:
    """What a prefix says; ``None`` where it is none. Only `head_of` proves it."""
    if len(prefix) < PREFIX_BYTES or not prefix.startswith(MAGIC):
        return None
    said = Announced(*_PREFIX.unpack_from(prefix)[1:])
    if max(said.data_bytes, said.plain_bytes) > MAX_DATA_BYTES or said.samples > MAX_SAMPLES:
        return None
    return said


def head_of(prefix: bytes, body: bytes) -> Head | None:
    """The head, or ``None`` where prefix and head are not what was written."""
    (check,) = _CHECK.unpack_from(prefix, _PREFIX.size)
    if crc32(body, crc32(prefix[: _PREFIX.size])) != check:
        return None
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def check_data(said: Announced, head: bytes, data: bytes) -> None:
    """Prove that head and data are what was written.

    Raises:
        DamagedBlock: when they are not.
    """
    if len(data) != said.data_bytes or crc32(data, crc32(head)) != said.check:
        raise DamagedBlock("a block is damaged")
