"""What no reading may do to the stream: each is tried as the other end will read it, before it is sent.

A source that trusts what it was given (a driver, a file, another program) may put a value of the wrong
type, an infinite one or a text without end into a reading. That reading is left out, and no other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec

from ..sources.protocol import Part

_MOST_BYTES = 1 << 20
"""Of one reading. Real ones have some kilobytes, and sixteen such as this fill a message."""
_MOST_BYTES_OF_A_SOURCE = 4 << 20

_encode = msgspec.msgpack.Encoder().encode
# How an infinite number or one that is none begins. Other values may hold these bytes too, so what has
# them is only looked at more closely.
_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")


def sound(parts: Sequence[Part]) -> tuple[tuple[Part, ...], str]:
    """Those parts that the other end can read, and what is wrong with the others, one sentence."""
    if not parts or _all_sound(parts):
        return tuple(parts), ""
    kept: list[Part] = []
    why = ""
    room = _MOST_BYTES_OF_A_SOURCE
    for part in parts:
        size, wrong = _examined(part)
        room -= 0 if wrong else size
        wrong = wrong or ("there is too much of it" if room < 0 else "")
        if wrong:
            why = why or wrong
        else:
            kept.append(part)
    dropped = len(parts) - len(kept)
    return tuple(kept), f"{dropped} of {len(parts)} readings left out: {why}" if dropped else ""


def _all_sound(parts: Sequence[Part]) -> bool:
    """As is nearly always so: all in one go."""
    kinds = {type(part) for part in parts}
    try:
        for kind in kinds:
            body = _encode([part for part in parts if type(part) is kind])
            if len(body) > _MOST_BYTES or _NOT_FINITE.search(body):
                return False
            _decoder(kind).decode(body)
    except Exception:  # noqa: BLE001 - each part tells what is wrong with it
        return False
    return True


def _examined(part: Part) -> tuple[int, str]:
    """Its size, and why the other end could not read it; empty where it could."""
    try:
        body = _encode([part])
        _decoder(type(part)).decode(body)
    except Exception as error:  # noqa: BLE001 - whatever a value of a wrong type does in there
        return 0, str(error).splitlines()[0] if str(error) else type(error).__name__
    if len(body) > _MOST_BYTES:
        return len(body), f"it has {len(body)} bytes"
    if _NOT_FINITE.search(body) and not _is_finite(part):
        return len(body), "a number in it is infinite or none"
    return len(body), ""


@lru_cache(maxsize=64)
def _decoder(kind: type[Part]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(list[kind])  # type: ignore[valid-type]


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, msgspec.Struct):
        return all(_is_finite(getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return all(map(_is_finite, cast("dict[str, object]", value).values()))
    if isinstance(value, (tuple, list)):
        return all(map(_is_finite, cast("Sequence[object]", value)))
    return True
