"""Perfetto's own format: a stream of packets, each of which stands for itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .protobuf import Value, message
from .writer import Argument, Clocks, Group, Track

# Numbers of fields, by message: protos/perfetto/trace in Perfetto's repository.
_PACKET = 1
_CLOCK_SNAPSHOT, _TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _CLOCK_ID, _DESCRIPTOR = 6, 8, 10, 11, 58, 60
_CLOCKS, _PRIMARY = 1, 2
_UUID, _NAME, _PROCESS, _PARENT, _COUNTER = 1, 2, 3, 5, 8
_PID, _PROCESS_NAME = 1, 6
_ANNOTATION, _TYPE, _TRACK, _CATEGORY, _EVENT_NAME, _VALUE = 4, 9, 11, 22, 23, 44
_INT, _DOUBLE, _STRING, _ANNOTATION_NAME = 4, 5, 6, 10
_REALTIME, _MONOTONIC, _BOOTTIME = 1, 3, 6
_SLICE_BEGIN, _SLICE_END, _COUNT = 1, 2, 4
_ONE_SEQUENCE = 1


class PerfettoWriter:
    """Writes packets as they come.

    Args:
        write: takes the bytes of the file.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._tracks: dict[object, int] = {}

    def begin(self, clocks: Clocks) -> None:
        """Unix time is the trace's clock, as it is that of torch.profiler."""
        pairs = ((_REALTIME, clocks.unix), (_MONOTONIC, clocks.monotonic), (_BOOTTIME, clocks.boot))
        readings = [(_CLOCKS, message((1, which), (2, moment))) for which, moment in pairs]
        self._packet((_CLOCK_SNAPSHOT, message(*readings, (_PRIMARY, _REALTIME))))

    def span(
        self, track: Track, name: str, start: int, end: int, arguments: Mapping[str, Argument]
    ) -> None:
        uuid = self._track(track)
        about = [(_ANNOTATION, _annotation(key, value)) for key, value in arguments.items()]
        self._event(
            start,
            *about,
            (_TYPE, _SLICE_BEGIN),
            (_TRACK, uuid),
            (_CATEGORY, "gputop"),
            (_EVENT_NAME, name),
        )
        self._event(end, (_TYPE, _SLICE_END), (_TRACK, uuid))

    def count(self, group: Group, name: str, moment: int, value: float) -> None:
        parent = self._group(group)
        key = (group, name)
        if key not in self._tracks:
            self._describe(key, (_NAME, name), (_PARENT, parent), (_COUNTER, b""))
        self._event(moment, (_TYPE, _COUNT), (_TRACK, self._tracks[key]), (_VALUE, float(value)))

    def end(self) -> None:
        """Packets need no end."""

    def _track(self, track: Track) -> int:
        if track not in self._tracks:
            self._describe(track, (_NAME, track.name), (_PARENT, self._group(track.group)))
        return self._tracks[track]

    def _group(self, group: Group) -> int:
        if group not in self._tracks:
            process = message((_PID, group.number), (_PROCESS_NAME, group.name))
            self._describe(group, (_PROCESS, process) if group.process else (_NAME, group.name))
        return self._tracks[group]

    def _describe(self, key: object, *fields: tuple[int, Value]) -> None:
        uuid = self._tracks[key] = len(self._tracks) + 1
        self._packet((_DESCRIPTOR, message((_UUID, uuid), *fields)))

    def _event(self, moment: int, *fields: tuple[int, Value]) -> None:
        self._packet((_TIMESTAMP, moment), (_CLOCK_ID, _REALTIME), (_TRACK_EVENT, message(*fields)))

    def _packet(self, *fields: tuple[int, Value]) -> None:
        self._write(message((_PACKET, message(*fields, (_SEQUENCE, _ONE_SEQUENCE)))))


def _annotation(name: str, value: Argument) -> bytes:
    if isinstance(value, str):
        return message((_ANNOTATION_NAME, name), (_STRING, value))
    if isinstance(value, int):
        return message((_ANNOTATION_NAME, name), (_INT, value))
    return message((_ANNOTATION_NAME, name), (_DOUBLE, value))
