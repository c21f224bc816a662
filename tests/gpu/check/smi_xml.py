"""How the words of ``nvidia-smi -q -x`` become values in gputop's units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

MIB = 2**20
NOTHING = frozenset(
    {"", "N/A", "[N/A]", "[Not Supported]", "Requested functionality has been deprecated"}
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FLAGS = {"Enabled": True, "Disabled": False, "Yes": True, "No": False, "Pending": True}

Convert = Callable[[str], Any]


class Path(NamedTuple):
    """Where in a GPU's element a value stands, and how it is read."""

    places: tuple[str, ...]
    read: Callable[[Element], Any]


def told(gpu: Element, path: str) -> str | None:
    """The text there; ``None`` where nvidia-smi says that there is no value."""
    text = (gpu.findtext(path) or "").strip()
    return None if text in NOTHING else text


def first(*paths: str, convert: Convert) -> Path:
    """The first of them that says something: names differ between versions of the driver."""

    def read(gpu: Element) -> Any:
        for path in paths:
            text = told(gpu, path)
            if text is not None:
                return convert(text)
        return None

    return Path(paths, read)


def total(*paths: str, convert: Convert | None = None) -> Path:
    """The sum of those that say something."""
    number = convert or times(1)

    def read(gpu: Element) -> Any:
        found = [number(text) for path in paths if (text := told(gpu, path)) is not None]
        return sum(found) if found else None

    return Path(paths, read)


def times(unit: float) -> Convert:
    """A number with or without its unit behind it, such as ``81559 MiB`` or ``16x``."""

    def convert(text: str) -> float | None:
        found = _NUMBER.match(text)
        return float(found[0]) * unit if found else None

    return convert


def words(text: str) -> str:
    """As they are."""
    return text


def lower(text: str) -> str:
    """In small letters, blanks for underlines."""
    return text.lower().replace("_", " ")


def flag(text: str) -> bool | None:
    """Yes or no."""
    return _FLAGS.get(text)


def one_of(meanings: dict[str, str]) -> Convert:
    """Words of nvidia-smi's for those of gputop; others in small letters."""
    return lambda text: meanings.get(text, lower(text))


def threshold(kind: str) -> Path:
    """A temperature, or what newer chips tell instead: how far from it the chip is now."""
    absolute = f"temperature/gpu_temp_{kind}_threshold"
    margin = f"temperature/gpu_temp_{kind}_tlimit_threshold"

    distances = ("temperature/gpu_temp", "temperature/gpu_temp_tlimit", margin)

    def read(gpu: Element) -> float | None:
        text = told(gpu, absolute)
        if text is not None:
            found: float | None = times(1)(text)
            return found
        texts = [told(gpu, path) for path in distances]
        numbers = [found for text in texts if text and (found := times(1)(text)) is not None]
        if len(numbers) < len(texts):
            return None
        here, left, at = numbers
        return float(here + left - at)

    return Path((absolute, *distances), read)


def reasons(meanings: dict[str, str]) -> Path:
    """Why the clocks are not higher: names of both generations of drivers."""

    def read(gpu: Element) -> list[str] | None:
        for kind in ("event", "throttle"):
            group = gpu.find(f"clocks_{kind}_reasons")
            if group is not None:
                active = [each.tag for each in group if (each.text or "").strip() == "Active"]
                names = [tag.removeprefix(f"clocks_{kind}_reason_") for tag in active]
                return sorted(meanings.get(name, name) for name in names)
        return None

    return Path(("clocks_event_reasons", "clocks_throttle_reasons"), read)


def leaves(element: Element, above: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of all that is told below it."""
    for child in element:
        path = f"{above}{child.tag}"
        text = (child.text or "").strip()
        if len(child):
            yield from leaves(child, f"{path}/")
        elif text not in NOTHING:
            yield path, text
