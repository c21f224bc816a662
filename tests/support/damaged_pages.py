"""State pages that hold any bytes, and what a reading of one may be all the same."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator

import msgspec

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import ProbeReading

from fixtures.pages import FACTS, GAUGES, SECOND

PLACES = (
    *(layout.HEADER_AT, layout.NEWEST_AT, layout.SLOTS_AT, layout.GROUPS_AT),
    *(layout.GAUGES_AT, layout.FACTS_AT, layout.STEPS_AT, layout.RINGS_AT),
)
_decoder = msgspec.msgpack.Decoder(ProbeReading)
_encoder = msgspec.msgpack.Encoder()


def check(reading: ProbeReading, now: int) -> None:
    """It can travel, keeps its types on the way, and holds nothing absurd."""
    assert _decoder.decode(_encoder.encode(reading)) == reading
    for text in _texts(msgspec.to_builtins(reading)):
        assert text.isprintable()
        assert len(text) <= 256
    json.dumps(msgspec.to_builtins(reading), allow_nan=False)
    end = now / SECOND + 11
    moments = [reading.phase_monotonic_seconds, reading.step_monotonic_seconds]
    moments += [each.monotonic_seconds for each in reading.steps]
    moments += [each.monotonic_seconds for each in reading.segments]
    assert all(0 <= moment <= end for moment in moments if moment is not None)
    assert sum(reading.phase_seconds.values()) <= end
    assert all(seconds >= 0 for seconds in reading.phase_seconds.values())
    assert all(0 <= step.seconds <= end for step in reading.steps)
    assert len(reading.steps) <= 2 * layout.STEPS
    assert len(reading.segments) <= layout.RING_WORDS + 1
    assert len(reading.threads) < layout.THREADS
    assert len(reading.collectives) <= layout.GROUPS


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(key)
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def corrupted(data: bytearray, chance: random.Random) -> bytes:
    """One of the ways in which a page can be wrong; records keep a valid checksum in some."""
    at = chance.choice(PLACES) + chance.randrange(600)
    match chance.randrange(7):
        case 0:  # random bytes somewhere
            count = chance.choice((1, 8, 64, 1000))
            data[at : at + count] = chance.randbytes(count)
        case 1:  # cut short
            del data[chance.choice((at, chance.randrange(len(data)))) :]
        case 2:  # one bit
            data[at] ^= 1 << chance.randrange(8)
        case 3:  # a length, a counter or a moment beyond all bounds
            value = chance.choice((2**64 - 1, 2**63, 2**53 + 1, 2**32 - 1, 0))
            data[at & ~7 : (at & ~7) + 8] = struct.pack("<Q", value)
        case 4:  # everything
            header = bytes(data[: layout.HEADER.size])
            data[:] = chance.randbytes(len(data))
            data[: len(header)] = header
        case 5:  # records that are whole and senseless
            for index in range(9):
                size = layout.STEP.size + chance.randrange(4) * layout.STEP_PHASE.size
                head = bytearray(chance.randbytes(size))
                head[60:64] = struct.pack("<I", (size - layout.STEP.size) // 24)
                record = layout.record(index + 1, bytes(head))
                place = layout.STEPS_AT + index * layout.STEP_SIZE
                if index > 7:
                    place = layout.NEWEST_AT
                data[place : place + len(record)] = record
        case _:  # texts of any content
            for start, whole in ((layout.FACTS_AT, FACTS), (layout.GAUGES_AT, GAUGES)):
                text = bytearray(json.dumps(whole).encode())
                for _ in range(chance.randrange(1, 6)):
                    place = chance.randrange(len(text))
                    text[place : place + chance.randrange(4)] = chance.choice(
                        (b"1e999", b"-1", b"[" * 4000, b"NaN", b"null", b'"\\u001b]0;"', b"9" * 30)
                    )
                record = layout.record(2, bytes(text))
                data[start : start + len(record)] = record
    return bytes(data)
