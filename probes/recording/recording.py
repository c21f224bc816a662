"""Reading a recording: one segment, or all that bear a name, as one row of samples.

What is damaged is left out, a block at a time, and counted; a segment that is being written may be read.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from ..model.sample import WIRE_SCHEMA_VERSION
from .block import Block, Kept
from .errors import DamagedBlock, RecordingError, reason
from .format import FORMAT_VERSION, MAX_DATA_BYTES, THINNED, Head
from .marks import ACTIVE, Event
from .names import segments_of
from .open_file import open_to_read
from .scan import Index, Place, read_data, scan

_BLOCKS_KEPT = 4
"""Decoded ones, for who goes to and fro."""


class Stored(NamedTuple):
    """One block of the recording."""

    segment: int
    """Number of the file among those that were opened."""
    place: Place

    @property
    def head(self) -> Head:
        """What it says about itself."""
        return self.place.head

    @property
    def first_seconds(self) -> float:
        """Unix time of its first sample."""
        return self.place.said.first_seconds

    @property
    def last_seconds(self) -> float:
        """Unix time of its last sample."""
        return self.place.said.last_seconds

    @property
    def samples(self) -> int:
        """How many it has."""
        return self.place.said.samples

    @property
    def thinned(self) -> bool:
        """Whether of ten samples one was kept."""
        return bool(self.place.said.flags & THINNED)


class Recording:
    """An open recording. Close it, or use it in a ``with`` statement.

    Args:
        where: a segment, or the name that its segments begin with.

    Raises:
        RecordingError: when there is nothing that could be read.
    """

    def __init__(self, where: Path) -> None:
        self.title = where.name.removesuffix(".gtop")
        self._descriptors: list[int] = []
        self.paths = _files(where)
        """Of its segments, in their order."""
        self.lost_bytes = 0
        """That belong to no whole block: damage, or the end of a recorder that was killed."""
        self.damaged_blocks = 0
        """Whose head was whole, but not the data; known once they were read."""
        self._damaged: set[Stored] = set()
        self._decoded: OrderedDict[Stored, Block] = OrderedDict()
        try:
            self.blocks = self._index(where)
            """All blocks in the order in which they were written."""
        except BaseException:
            self.close()
            raise

    def _index(self, where: Path) -> tuple[Stored, ...]:
        blocks: list[Stored] = []
        sizes = 0
        for number, path in enumerate(self.paths):
            descriptor = open_to_read(path)
            self._descriptors.append(descriptor)
            index = _scanned(descriptor, path)
            sizes += os.fstat(descriptor).st_size
            self.lost_bytes += index.lost_bytes
            blocks += (Stored(number, place) for place in index.places)
        if not blocks:
            raise RecordingError(_why_none(where, sizes, self._descriptors))
        _refuse_newer(where, blocks)
        _refuse_strangers(where, blocks)
        return tuple(blocks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

    @property
    def node(self) -> str:
        """On which it was recorded."""
        return self.blocks[0].head.node

    @property
    def begins_seconds(self) -> float:
        """Unix time of the first sample."""
        return self.blocks[0].first_seconds

    @property
    def ends_seconds(self) -> float:
        """Unix time of the last sample."""
        return self.blocks[-1].last_seconds

    @property
    def samples_count(self) -> int:
        """How many samples there are, as the heads say."""
        return sum(block.samples for block in self.blocks)

    @property
    def events(self) -> tuple[Event, ...]:
        """When findings became active and were found gone, as it was judged live; in their order."""
        return tuple(event for block in self.blocks for event in block.head.events)

    @property
    def activations(self) -> tuple[Event, ...]:
        """When findings became active."""
        return tuple(event for event in self.events if event.state == ACTIVE)

    def block(self, stored: Stored) -> Block:
        """The samples of one block.

        Raises:
            DamagedBlock: when it is not what was written, or cannot be read any more.
        """
        block = self._decoded.get(stored)
        if block is not None:
            self._decoded.move_to_end(stored)
            return block
        try:
            block = Block(
                stored.place.said, read_data(self._descriptors[stored.segment], stored.place)
            )
        except OSError as error:
            self._note(stored)
            raise DamagedBlock(f"a block cannot be read: {reason(error)}") from error
        except DamagedBlock:
            self._note(stored)
            raise
        self._decoded[stored] = block
        while len(self._decoded) > _BLOCKS_KEPT:
            self._decoded.popitem(last=False)
        return block

    def _note(self, stored: Stored) -> None:
        self._damaged.add(stored)
        self.damaged_blocks = len(self._damaged)

    def numbers_of(self, stored: Stored) -> Sequence[float]:
        """Unix times of its samples; none where it is damaged."""
        try:
            return self.block(stored).times
        except DamagedBlock:
            return ()

    def kept(self, begin: float = -math.inf, end: float = math.inf) -> Iterator[Kept]:
        """The samples from ``begin`` to ``end``, both Unix time, both included, with what was judged."""
        for stored in self.blocks:
            if stored.last_seconds < begin or stored.first_seconds > end:
                continue
            try:
                block = self.block(stored)
                for number, seconds in enumerate(block.times):
                    if begin <= seconds <= end:
                        yield block.kept(number)
            except DamagedBlock:
                self._note(stored)

    def damage(self) -> str:
        """One sentence on what was left out, or ''."""
        parts: list[str] = []
        if self.damaged_blocks:
            parts.append(f"{self.damaged_blocks} block{'s' * (self.damaged_blocks > 1)}")
        if self.lost_bytes:
            parts.append(f"{self.lost_bytes} bytes that are no whole block")
        return f"{self.title} is damaged: {' and '.join(parts)} left out" if parts else ""


def _files(where: Path) -> tuple[Path, ...]:
    """The segments that are meant."""
    if not where.name:
        raise RecordingError(f"{str(where)!r} names no recording")
    try:
        found = tuple(each.path for each in segments_of(where))
        for path in (where, where.with_name(f"{where.name}.gtop")):
            if _is_there(path) and not (found and path.is_dir()):
                return (path,)
    except OSError as error:
        if _is_there(where):
            return (where,)  # whoever opens it learns why
        raise RecordingError(f"there is no recording {where}: {reason(error)}") from error
    if not found:
        raise RecordingError(f"there is no recording {where}, nor a segment of one with that name")
    return found


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        pass
    return True


def _scanned(descriptor: int, path: Path) -> Index:
    try:
        return scan(descriptor, search_limit=2 * MAX_DATA_BYTES)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {reason(error)}") from error


def _why_none(where: Path, size: int, descriptors: Sequence[int]) -> str:
    if not size:
        return f"{where} is empty"
    from .format import MAGIC

    if any(os.pread(each, len(MAGIC), 0) == MAGIC for each in descriptors):
        return (
            f"{where} has no whole block: its recorder ended before the first one, or it is damaged"
        )
    return f"{where} is not a gputop recording"


def _refuse_newer(where: Path, blocks: Sequence[Stored]) -> None:
    for block in blocks:
        schema, program = block.head.schema_version, block.head.program_version
        if schema > WIRE_SCHEMA_VERSION or block.place.said.format_version > FORMAT_VERSION:
            raise RecordingError(
                f"{where} was recorded by gputop {program} in schema {schema}, which is newer than "
                f"this one's {WIRE_SCHEMA_VERSION}: update gputop to read it"
            )


def _refuse_strangers(where: Path, blocks: Sequence[Stored]) -> None:
    nodes = list(dict.fromkeys(block.head.node for block in blocks))
    if len(nodes) > 1:
        raise RecordingError(
            f"{where} holds segments of different nodes ({', '.join(nodes[:3])}): name one segment"
        )
