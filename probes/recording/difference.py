"""A sample as what differs from another one: most of it, such as command lines, never changes.

Differences are taken from the first sample of a block, so that any other needs that one alone. A
difference is a pair: the fields that changed, and for each list of readings its entries, which are a
number where the reading is the same as that of this number in the first sample, a number with the
fields that changed, or a whole reading. Applying one needs no knowledge of the fields.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from operator import attrgetter, ne
from typing import Any, cast

import msgspec
from msgspec.structs import astuple

from ..model.sample import Sample

Fields = dict[str, Any]
Entry = int | tuple[int, Fields] | msgspec.Struct
Difference = tuple[Fields, dict[str, list[Entry]]]

_process = attrgetter("pid", "start_time_seconds")
_LISTS: dict[str, Callable[[Any], object]] = {
    "gpus": attrgetter("index"),
    "processes": _process,
    "cgroups": attrgetter("path"),
    "probes": _process,
    "threads": _process,
    "ports": attrgetter("device", "port"),
    "placements": _process,
    "communicators": attrgetter("id"),
    "pressures": attrgetter("path"),
    "sources": attrgetter("name"),
}
"""Lists of readings, with what makes two of them readings of the same thing."""


def difference(sample: Sample, base: Sample) -> Difference:
    """What makes ``sample`` of ``base``."""
    changed = _changed(sample, base)
    lists = {
        name: _entries(changed.pop(name), getattr(base, name), key)
        for name, key in _LISTS.items()
        if name in changed
    }
    return changed, lists


def _changed(new: msgspec.Struct, old: msgspec.Struct) -> Fields:
    values = astuple(new)
    return dict(
        compress(zip(new.__struct_fields__, values, strict=True), map(ne, values, astuple(old)))
    )


def _entries(
    new: tuple[msgspec.Struct, ...],
    old: tuple[msgspec.Struct, ...],
    key: Callable[[Any], object],
) -> list[Entry]:
    numbers = {key(reading): number for number, reading in enumerate(old)}
    entries: list[Entry] = []
    for reading in new:
        number = numbers.get(key(reading))
        if number is None:
            entries.append(reading)
        else:
            fields = _changed(reading, old[number])
            entries.append((number, fields) if fields else number)
    return entries


def applied(base: Fields, changed: Fields, lists: dict[str, list[Any]]) -> Fields:
    """The sample, all as plain maps and lists.

    Raises:
        ValueError: when the difference does not fit.
    """
    made = base | changed
    for name, entries in lists.items():
        old = base.get(name, [])
        try:
            made[name] = [_reading(entry, old) for entry in entries]
        except (IndexError, TypeError) as error:
            raise ValueError("a difference does not fit the sample that it is from") from error
    return made


def _reading(entry: object, old: list[Fields]) -> Fields:
    if isinstance(entry, int):
        return old[entry]
    if isinstance(entry, dict):
        return cast(Fields, entry)
    number, fields = cast("tuple[int, Fields]", entry)
    return old[number] | fields
