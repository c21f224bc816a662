"""The facts and gauges of one page, read anew only where they have changed."""

from __future__ import annotations

import msgspec

from ...inprocess import layout
from ...model.probe_readings import ProbeReading
from .facts import NO_FACTS, Facts, Gauges, loader_reading, parse_facts, parse_gauges
from .state import Read

_HEAD = layout.RECORD_HEAD


class PageTexts:
    """What the two texts of a page say, as far as it is known.

    Args:
        bare: a reading of the page with nothing in it yet.

    Attributes:
        facts: the newest.
        gauges: the newest.
        template: the reading with what both say in it.
    """

    def __init__(self, bare: ProbeReading) -> None:
        self.facts: Facts = NO_FACTS
        self.gauges = Gauges()
        self.template = bare
        self._bare = bare
        self._facts_generation = 0
        self._gauges_generation = 0

    def refresh(self, hot: bytes, read: Read) -> None:
        """Take up what is new.

        Args:
            hot: a copy of the first part of the page, with the gauges in it.
            read: so many bytes of the page, from there on.
        """
        gauges = _newer(hot, layout.GAUGES_AT, layout.GAUGES_SIZE, self._gauges_generation)
        if gauges is not None:
            self._gauges_generation, payload = gauges
            self.gauges = parse_gauges(payload)
        facts = _newer_facts(read, self._facts_generation)
        if facts is not None:
            self._facts_generation, payload = facts
            self.facts = parse_facts(payload)
        if gauges is not None or facts is not None:
            said = self.gauges.fields | self.facts.fields
            loader = loader_reading(self.facts, self.gauges)
            self.template = msgspec.structs.replace(self._bare, loader=loader, **said)


def _newer_facts(read: Read, known: int) -> tuple[int, bytes] | None:
    at, size = layout.FACTS_AT, layout.FACTS_SIZE
    heads = [read(_HEAD.size, place) for place in (at, at + size)]
    if any(len(head) < _HEAD.size for head in heads):
        return None
    if max(_HEAD.unpack(head)[0] for head in heads) == known:
        return None
    return _newer(read(2 * size, at), 0, size, known)


def _newer(data: bytes, at: int, size: int, known: int) -> tuple[int, bytes] | None:
    """The record of two places, if it is not the one that is known."""
    if len(data) < at + 2 * size:
        return None
    if max(_HEAD.unpack_from(data, place)[0] for place in (at, at + size)) == known:
        return None
    found = layout.newest(data[at : at + size], data[at + size : at + 2 * size])
    return None if found is None or found[0] == known else found
