"""The kernel's texts about an RDMA port, parsed. Each parser takes any bytes and never raises."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...model.link_readings import LinkLayer
from ..procfs.text import LARGEST, number, text

_RATE = re.compile(rb"(\d{1,6}(?:\.\d)?) Gb/sec \((\d{1,2})X(?: ([A-Z0-9]+))?\)")
_ENCODING = {"SDR": 8 / 10, "DDR": 8 / 10, "QDR": 8 / 10, "FDR": 64 / 66}
"""The kernel prints these as lanes times signalling rate; FDR10 and from EDR on as what is carried."""
_LAYERS: dict[bytes, LinkLayer] = {b"InfiniBand": "infiniband", b"Ethernet": "ethernet"}
_WORD_CHARS = 40


class Rate(NamedTuple):
    """How a port is trained."""

    bytes_per_second: float
    """One direction, line encoding taken off."""
    lanes: int
    speed: str


def parse_rate(data: bytes, layer: LinkLayer | None) -> Rate | None:
    """``400 Gb/sec (4X NDR)``; the slowest has no name. On Ethernet the kernel names the InfiniBand
    rate that is next to the real one, and nothing is to be taken off."""
    match = _RATE.fullmatch(data.strip())
    if match is None:
        return None
    gigabits, lanes = float(match[1]), int(match[2])
    speed = text(match[3]) if match[3] else "SDR"
    if not gigabits or not lanes:
        return None
    encoding = 1.0 if layer == "ethernet" else _ENCODING.get(speed, 1.0)
    return Rate(gigabits * 1e9 / 8 * encoding, lanes, speed)


def parse_state(data: bytes) -> str | None:
    """``4: ACTIVE`` → ``active``; ``5: LinkUp`` → ``linkup``."""
    _, colon, word = data.strip().partition(b": ")
    if not colon or not word:
        return None
    return text(word).strip("<>").lower()[:_WORD_CHARS]


def parse_layer(data: bytes) -> LinkLayer:
    """A port of a cloud's own kind of network is neither."""
    return _LAYERS.get(data.strip(), "unknown")


def parse_count(data: bytes, worth: int = 1) -> tuple[int | None, str]:
    """A counter of which one unit is ``worth`` so much, or why there is none.

    What it comes to must fit into a sample, too.
    """
    stripped = data.strip()
    value = number(stripped)
    if value is None or value > LARGEST // worth:
        return None, _why_no_count(stripped)
    return value * worth, ""


def _why_no_count(stripped: bytes) -> str:
    if not stripped:
        return "the driver gave an empty file"
    if stripped.startswith(b"N/A"):  # how older kernels say that the card does not answer
        return "not counted by this card"
    return f"the driver gave {text(stripped)[:_WORD_CHARS]!r}, which is no count"


def parse_word(data: bytes) -> str | None:
    """One word or line about a device."""
    return text(data.strip())[: 2 * _WORD_CHARS] or None
