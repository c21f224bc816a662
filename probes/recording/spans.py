"""Phase spans and steps of a block, as columns: they are nearly all of a thinned recording.

What one of them says another says too, so it is worked out and only what differs is kept: a step lasts from
the end of the one before; its phases are the spans within it. Moments are nanoseconds on the page, so they are
whole numbers here. A process of which any time is none stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple

from msgspec.structs import replace

from ..model.probe_readings import SegmentReading, StepReading
from ..model.reading import Key, key_of
from ..model.sample import Sample
from .columns import pack, unpack

TYPE = "spans"
"""In the place where an entry says of which type it is."""
_SECOND = 1e9
_LONGEST = 2**62
_REST = "other"
"""Of a step what is in no other phase."""
Place = tuple[int, int]
"""Number of a sample among those of the block, and of a probe in it."""
Columns = dict[str, Any]


class _Told(NamedTuple):
    """All that one process told in the block."""

    places: list[Place]
    segments: list[tuple[SegmentReading, ...]]
    steps: list[tuple[StepReading, ...]]


def packed(samples: Sequence[Sample]) -> tuple[list[Sample], list[Columns]]:
    """The samples without the spans that are in the columns."""
    by_process: dict[Key, _Told] = {}
    for at, sample in enumerate(samples):
        for number, probe in enumerate(sample.probes):
            if probe.segments or probe.steps:
                told = by_process.setdefault(key_of(probe), _Told([], [], []))
                told.places.append((at, number))
                told.segments.append(probe.segments)
                told.steps.append(probe.steps)
    found: list[Columns] = []
    gone: set[Place] = set()
    for told in by_process.values():
        try:
            found.append(_columns(told))
        except ValueError:
            continue
        gone.update(told.places)
    return [_without(sample, at, gone) for at, sample in enumerate(samples)], found


def _without(sample: Sample, at: int, gone: set[Place]) -> Sample:
    probes = [
        replace(probe, segments=(), steps=()) if (at, number) in gone else probe
        for number, probe in enumerate(sample.probes)
    ]
    return replace(sample, probes=tuple(probes))


def unpacked(samples: Sequence[Sample], columns: Iterable[Mapping[str, Any]]) -> list[Sample]:
    """The samples with the spans that are in the columns.

    Raises:
        ValueError, LookupError, TypeError: where these are no columns of these samples.
    """
    probes = [list(sample.probes) for sample in samples]
    for each in columns:
        moments = _moments(each)
        made = [*_segments(each, moments)]
        segments, steps = iter(made), _steps(each, _phases_of(made, moments))
        places: list[tuple[int, int, int, int]] = each["places"]
        if sum(place[2] for place in places) != len(made):
            raise ValueError("spans are cut off")
        for at, number, spans, ended in places:
            own, told = tuple(islice(segments, spans)), tuple(islice(steps, ended))
            probes[at][number] = replace(probes[at][number], segments=own, steps=told)
    return [replace(sample, probes=tuple(own)) for sample, own in zip(samples, probes, strict=True)]


def _columns(told: _Told) -> Columns:
    segments, steps = [*chain(*told.segments)], [*chain(*told.steps)]
    counts = zip(told.places, told.segments, told.steps, strict=True)
    phases = [*dict.fromkeys(segment.phase for segment in segments)]
    codes = {phase: code for code, phase in enumerate(phases)}
    if len(phases) > 255:
        raise ValueError("more phases than a byte can tell apart")
    moments = _whole(segment.monotonic_seconds for segment in segments)
    lasting = [list[int]() for _ in phases]
    for segment, duration in zip(segments, _differences(moments)[1:], strict=False):
        lasting[codes[segment.phase]].append(duration)
    return {
        "type": TYPE,
        "places": [(*place, len(spans), len(ended)) for place, spans, ended in counts],
        "phases": phases,
        "codes": bytes(codes[segment.phase] for segment in segments),
        "first": moments[0] if moments else 0,
        "lasting": [pack(each) for each in lasting],
        "numbers": pack(_differences([segment.step for segment in segments])),
        "steps": _step_columns(steps, _phases_of(segments, moments)),
    }


def _moments(columns: Mapping[str, Any]) -> list[int]:
    """When each span began."""
    codes: bytes = columns["codes"]
    lasting = [iter(unpack(each)) for each in columns["lasting"]]
    durations = map(next, map(lasting.__getitem__, codes[:-1]))
    return [*accumulate(durations, initial=columns["first"])] if codes else []


def _segments(columns: Mapping[str, Any], moments: Sequence[int]) -> Iterator[SegmentReading]:
    phases = map(columns["phases"].__getitem__, columns["codes"])
    numbers = accumulate(unpack(columns["numbers"]))
    return map(SegmentReading, phases, [moment / _SECOND for moment in moments], numbers)


def _phases_of(
    segments: Sequence[SegmentReading], moments: Sequence[int]
) -> Mapping[int, Mapping[str, int]]:
    """Step → phase → nanoseconds, by the spans."""
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for segment, duration in zip(segments, _differences(moments)[1:], strict=False):
        found[segment.step][segment.phase] += duration
    return found


_OPTIONAL = ("samples", "tokens", "loss", "micro_steps", "skipped")
_NO_PHASES: Mapping[str, int] = {}


def _step_columns(steps: Sequence[StepReading], spans: Mapping[int, Mapping[str, int]]) -> Columns:
    moments = _whole(step.monotonic_seconds for step in steps)
    seconds = _whole(step.seconds for step in steps)
    kinds = [*dict.fromkeys(tuple(step.phases) for step in steps)]
    gpu_kinds = [*dict.fromkeys(tuple(step.gpu_phases) for step in steps)]
    rest: list[int] = []
    for step, whole in zip(steps, seconds, strict=True):
        values = _whole(step.phases.values())
        rest += _residuals(tuple(step.phases), values, whole, spans.get(step.number, _NO_PHASES))
    ahead = [step.run_ahead_seconds for step in steps]
    return {
        "numbers": pack(_differences([step.number for step in steps])),
        "moments": pack(_differences(moments)),
        "seconds": pack([a - b for a, b in zip(seconds, _differences(moments), strict=True)]),
        "kinds": kinds,
        "kind": [kinds.index(tuple(step.phases)) for step in steps],
        "rest": pack(rest),
        "gpu_kinds": gpu_kinds,
        "gpu_kind": [gpu_kinds.index(tuple(step.gpu_phases)) for step in steps],
        "gpu": pack(_whole(chain(*(step.gpu_phases.values() for step in steps)))),
        "ahead": [value is not None for value in ahead],
        "run_ahead": pack(_whole(value for value in ahead if value is not None)),
        **{name: [getattr(step, name) for step in steps] for name in _OPTIONAL},
    }


def _steps(
    columns: Mapping[str, Any], spans: Mapping[int, Mapping[str, int]]
) -> Iterator[StepReading]:
    own = columns["steps"]
    moved = unpack(own["moments"])
    rest, gpu = iter(unpack(own["rest"])), iter(unpack(own["gpu"]))
    ahead = iter(unpack(own["run_ahead"]))
    rows = zip(
        accumulate(unpack(own["numbers"])),
        accumulate(moved),
        map(int.__add__, moved, unpack(own["seconds"])),
        own["kind"],
        own["gpu_kind"],
        own["ahead"],
        *(own[name] for name in _OPTIONAL),
        strict=True,
    )
    for number, moment, whole, kind, gpu_kind, is_ahead, *optional in rows:
        names = own["kinds"][kind]
        values = _from_residuals(names, rest, whole, spans.get(number, _NO_PHASES))
        yield StepReading(
            number=number,
            monotonic_seconds=moment / _SECOND,
            seconds=whole / _SECOND,
            phases={name: value / _SECOND for name, value in zip(names, values, strict=True)},
            gpu_phases={name: next(gpu) / _SECOND for name in own["gpu_kinds"][gpu_kind]},
            run_ahead_seconds=next(ahead) / _SECOND if is_ahead else None,
            **dict(zip(_OPTIONAL, optional, strict=True)),
        )


def _residuals(
    names: Sequence[str], values: Sequence[int], whole: int, spans: Mapping[str, int]
) -> list[int]:
    """What the spans do not tell; of the rest, what is left of the whole step."""
    left = whole - sum(value for name, value in zip(names, values, strict=True) if name != _REST)
    return [
        value - (left if name == _REST else spans.get(name, 0))
        for name, value in zip(names, values, strict=True)
    ]


def _from_residuals(
    names: Sequence[str], rest: Iterator[int], whole: int, spans: Mapping[str, int]
) -> list[int]:
    residuals = [*islice(rest, len(names))]
    values = [own + spans.get(name, 0) for name, own in zip(names, residuals, strict=True)]
    if _REST in names:
        at = names.index(_REST)
        values[at] = residuals[at] + whole - (sum(values) - values[at])
    return values


def _whole(times: Iterable[float]) -> list[int]:
    """In nanoseconds.

    Raises:
        ValueError: where one would come back as another.
    """
    seconds = [*times]
    try:
        found = [round(each * _SECOND) for each in seconds]
    except OverflowError as error:
        raise ValueError("an infinite time") from error
    if any(not -_LONGEST < number < _LONGEST for number in found):
        raise ValueError("a time of centuries")
    if any(number / _SECOND != each for number, each in zip(found, seconds, strict=True)):
        raise ValueError("a time is no whole number of nanoseconds")
    return found


def _differences(values: Sequence[int]) -> list[int]:
    """Each from the one before; of the first from 0."""
    return [value - before for before, value in zip((0, *values), values, strict=False)]
