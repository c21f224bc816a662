"""How phases look: a letter and a color each, and bars of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from .bars import shares
from .glyphs import BLOCK
from .lines import Span, plain, width_of
from .phase_roles import PHASE_ROLES

ORDER = (
    "data",
    "h2d",
    "forward",
    "backward",
    "comm",
    "optimizer",
    "checkpoint",
    "eval",
    "compile",
    "startup",
    "gc",
    "sync",
    "idle",
)
"""As they usually follow each other in a step."""
_LETTERS = {
    "data": "d",
    "h2d": "h",
    "forward": "F",
    "backward": "B",
    "comm": "c",
    "optimizer": "O",
    "checkpoint": "k",
    "eval": "e",
    "compile": "j",
    "startup": "u",
    "gc": "g",
    "sync": "s",
    "idle": "i",
    "other": ".",
}


def letter_of(phase: str) -> str:
    """Of a phase that the user named, its first."""
    letter = _LETTERS.get(phase) or plain(phase)[:1].upper()
    return letter if width_of(letter) == 1 else "?"


def role_of_phase(phase: str) -> str:
    """The role that gives its color."""
    return PHASE_ROLES.get(phase, "other")


def run_of(phase: str, cells: int, *, shaded: bool) -> str:
    """So many cells of one phase: its letter first; nothing but the letter where there are no colors."""
    letter = letter_of(phase)
    return letter * cells if shaded else letter + BLOCK * (cells - 1)


def in_order(phases: Mapping[str, float]) -> list[str]:
    """Names in the order of a step, the user's own after them and ``other`` last."""
    return sorted(phases, key=_place)


def phase_bar(phases: Mapping[str, float], width: int, *, shaded: bool) -> list[Span]:
    """The shares of a whole as one bar of that width."""
    names = in_order(phases)
    cells = shares([phases[name] for name in names], width)
    spans = [
        ((letter_of(name) if shaded else BLOCK) * count, role_of_phase(name))
        for name, count in zip(names, cells, strict=True)
        if count
    ]
    rest = width - sum(cells)
    return [*spans, (" " * rest, "text")] if rest else spans


@lru_cache(maxsize=256)
def _place(phase: str) -> tuple[int, str]:
    if phase == "other":
        return len(ORDER) + 1, phase
    return (ORDER.index(phase) if phase in ORDER else len(ORDER)), phase
