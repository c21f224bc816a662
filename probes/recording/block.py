"""A block: some samples in a row, of one boot of one node, with what was judged of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import msgspec

from ... import __version__
from ..model.sample import WIRE_SCHEMA_VERSION, Sample
from .compression import CompressionError, compress, decompress
from .difference import Fields, applied, difference
from .errors import DamagedBlock
from .format import MAX_DATA_BYTES, Announced, Head, pack
from .marks import Changes, Event, Mark


class Kept(NamedTuple):
    """One sample with the findings as they were judged then."""

    sample: Sample
    marks: tuple[Mark, ...] = ()


class _Body(msgspec.Struct, frozen=True, array_like=True):
    times: list[float]
    """Unix time of each sample."""
    first: msgspec.Raw
    """The first sample, whole."""
    others: list[msgspec.Raw]
    """Differences from that one."""
    judged: list[tuple[int, list[Mark]]]
    """From the sample of this number on: the findings, until the next entry."""


_encode = msgspec.msgpack.Encoder().encode
_decode_body = msgspec.msgpack.Decoder(_Body).decode
_decode_fields = msgspec.msgpack.Decoder(dict[str, Any]).decode
_decode_difference = msgspec.msgpack.Decoder(tuple[dict[str, Any], dict[str, list[Any]]]).decode
_decode_sample = msgspec.msgpack.Decoder(Sample).decode
_UNREADABLE = (
    msgspec.DecodeError,
    CompressionError,
    UnicodeDecodeError,
    OverflowError,
    RecursionError,
    ValueError,
)


class BlockBuilder:
    """Takes samples, and gives them back as the bytes of one block.

    Each sample is encoded at once: as bytes it takes a fifth of the memory.

    Args:
        changes: makes events of marks; it outlives the block.
        simulated: nothing in the samples is real.
        thinned: of ten samples one is kept.
    """

    def __init__(self, changes: Changes, *, simulated: bool = False, thinned: bool = False) -> None:
        self._changes = changes
        self.simulated = simulated
        self._thinned = thinned
        self._begin()

    def _begin(self) -> None:
        self._base: Sample | None = None
        self._last_monotonic = 0.0
        self._times: list[float] = []
        self._encoded: list[msgspec.Raw] = []
        self._judged: list[tuple[int, Sequence[Mark]]] = []
        self._marks: tuple[Mark, ...] = ()
        self._events: list[Event] = []
        self.plain_bytes = 0
        """Before compression, so far."""

    def __len__(self) -> int:
        return len(self._times)

    @property
    def begins(self) -> Sample | None:
        """The first sample in it."""
        return self._base

    def add(self, sample: Sample, marks: tuple[Mark, ...]) -> None:
        """Take one more; of the same boot and node as those before.

        Raises:
            OverflowError, UnicodeEncodeError, TypeError: when something in it has no form in a recording.
        """
        base = self._base
        encoded = _encode(sample if base is None else difference(sample, base))
        if base is None:
            self._base = sample
        if base is None or marks is not self._marks:
            self._judged.append((len(self._times), marks))
            self._marks = marks
            self._events += self._changes.take(sample.time_seconds, marks)
        self._last_monotonic = sample.monotonic_seconds
        self._times.append(sample.time_seconds)
        self._encoded.append(msgspec.Raw(encoded))
        self.plain_bytes += len(encoded)

    def finish(self) -> bytes:
        """The block, of at least one sample; what comes next begins another one."""
        base = self._base
        if base is None:
            raise ValueError("a block has at least one sample")
        plain = _encode((self._times, self._encoded[0], self._encoded[1:], self._judged))
        head = Head(
            schema_version=WIRE_SCHEMA_VERSION,
            program_version=__version__,
            node=base.node,
            boot_id=base.boot_id,
            first_monotonic_seconds=base.monotonic_seconds,
            last_monotonic_seconds=self._last_monotonic,
            simulated=self.simulated,
            events=tuple(self._events),
        )
        block = pack(
            head,
            compress(plain),
            plain_bytes=len(plain),
            samples=len(self._times),
            first_seconds=self._times[0],
            last_seconds=self._times[-1],
            thinned=self._thinned,
        )
        self._begin()
        return block

    @property
    def full(self) -> bool:
        """Whether another sample could be too much for one block."""
        return self.plain_bytes > MAX_DATA_BYTES // 4


class Block:
    """The samples of one block, each decoded when it is asked for.

    Args:
        said: what its prefix says.
        data: as it was written; proven by `format.check_data`.

    Raises:
        DamagedBlock: when these are no samples.
    """

    def __init__(self, said: Announced, data: bytes) -> None:
        try:
            self._body = _decode_body(decompress(data, said.plain_bytes))
        except _UNREADABLE as error:
            raise DamagedBlock(f"a block cannot be read ({error})") from error
        self.times = self._body.times
        """Unix time of each sample."""
        if not self.times or len(self.times) != 1 + len(self._body.others):
            raise DamagedBlock("a block cannot be read (it has not as many samples as it says)")
        self._base: Fields | None = None

    def __len__(self) -> int:
        return len(self.times)

    def sample(self, number: int) -> Sample:
        """One of them.

        Raises:
            DamagedBlock: when it is no sample.
        """
        try:
            if number == 0:
                return _decode_sample(self._body.first)
            return msgspec.convert(self.fields(number), Sample)
        except _UNREADABLE as error:
            raise DamagedBlock(f"a sample cannot be read ({error})") from error

    def fields(self, number: int) -> Fields:
        """One of them as plain maps and lists, which must not be changed.

        Raises:
            DamagedBlock: when it is none.
        """
        try:
            if self._base is None:
                self._base = _decode_fields(self._body.first)
            if number == 0:
                return self._base
            return applied(self._base, *_decode_difference(self._body.others[number - 1]))
        except _UNREADABLE as error:
            raise DamagedBlock(f"a sample cannot be read ({error})") from error

    def changed(self, number: int, name: str) -> list[Any]:
        """What a list of readings in it became, each with its changed fields; see `difference`.

        Raises:
            DamagedBlock: when it is none.
        """
        try:
            if number == 0:
                return cast("list[Any]", self.fields(0).get(name, []))
            return _decode_difference(self._body.others[number - 1])[1].get(name, [])
        except _UNREADABLE as error:
            raise DamagedBlock(f"a sample cannot be read ({error})") from error

    def marks(self, number: int) -> tuple[Mark, ...]:
        """The findings as they were judged with this sample."""
        found: list[Mark] = []
        for begin, marks in self._body.judged:
            if begin > number:
                break
            found = marks
        return tuple(found)

    def kept(self, number: int) -> Kept:
        """One sample with its findings.

        Raises:
            DamagedBlock: when it is none.
        """
        return Kept(self.sample(number), self.marks(number))
