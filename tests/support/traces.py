"""What is in a trace of either format, read by the means of others: json, and Perfetto's own classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

# Made of Perfetto's own definitions; without types.
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto  # type: ignore[import-untyped]


class Event(NamedTuple):
    """A span, in nanoseconds of Unix time."""

    group: str
    track: str
    name: str
    start: int
    end: int
    arguments: tuple[tuple[str, Any], ...]


class Value(NamedTuple):
    """Of a counter."""

    group: str
    name: str
    moment: int
    value: float


class Read(NamedTuple):
    spans: list[Event]
    values: list[Value]
    pids: dict[str, int]
    """Of the groups that are processes."""


def of_chrome(path: Path) -> Read:
    whole = json.loads(path.read_text())
    base = whole["baseTimeNanoseconds"]
    groups: dict[int, str] = {}
    tracks: dict[tuple[int, int], str] = {}
    spans: list[Event] = []
    values: list[Value] = []
    for each in whole["traceEvents"]:
        moment = base + round(each.get("ts", 0) * 1000)
        if each["name"] == "process_name":
            groups[each["pid"]] = each["args"]["name"]
        elif each["name"] == "thread_name":
            tracks[each["pid"], each["tid"]] = each["args"]["name"]
        elif each["ph"] == "C":
            ((name, value),) = each["args"].items()
            values.append(Value(groups[each["pid"]], name, moment, value))
        else:
            assert each["ph"] == "X"
            track = tracks[each["pid"], each["tid"]]
            end = moment + round(each["dur"] * 1000)
            about = tuple(each["args"].items())
            spans.append(Event(groups[each["pid"]], track, each["name"], moment, end, about))
    return Read(spans, values, {name: pid for pid, name in groups.items() if pid < 1 << 22})


def of_perfetto(path: Path) -> Read:
    trace = perfetto.Trace.FromString(path.read_bytes())
    size = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == size == path.stat().st_size
    tracks: dict[int, Any] = {}
    spans: list[Event] = []
    values: list[Value] = []
    pids: dict[str, int] = {}
    begun: dict[int, list[tuple[Any, int]]] = {}

    def group_of(track: Any) -> str:
        group = tracks[track.parent_uuid]
        return str(group.process.process_name or group.name)

    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks
            tracks[track.uuid] = track
            if track.HasField("process"):
                pids[track.process.process_name] = track.process.pid
        elif packet.HasField("track_event"):
            assert packet.timestamp_clock_id == perfetto.BUILTIN_CLOCK_REALTIME
            event, moment = packet.track_event, packet.timestamp
            track = tracks[event.track_uuid]
            if event.type == perfetto.TrackEvent.TYPE_COUNTER:
                assert track.HasField("counter")
                value = event.double_counter_value
                values.append(Value(group_of(track), track.name, moment, value))
            elif event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
                begun.setdefault(event.track_uuid, []).append((event, moment))
            else:
                began, start = begun[event.track_uuid].pop()
                about = tuple((each.name, _value(each)) for each in began.debug_annotations)
                spans.append(Event(group_of(track), track.name, began.name, start, moment, about))
        else:
            assert packet.clock_snapshot.primary_trace_clock == perfetto.BUILTIN_CLOCK_REALTIME
    assert not any(begun.values())
    return Read(spans, values, pids)


def _value(annotation: Any) -> Any:
    return getattr(annotation, annotation.WhichOneof("value"))
