"""Every character beyond ASCII that the screen may show, and what stands for it without UTF-8.

Pictures are always drawn with the glyphs; where the terminal cannot show them, each is replaced on the
way out by its twin, one cell for one cell, so that nothing moves.
"""

from __future__ import annotations

from collections.abc import Mapping

ERROR = "✖"
WARNING = "▲"
INFO = "●"
CLEARED = "✓"
SELECTED = "▸"
DASH = "–"
ELLIPSIS = "…"
DOT = "·"
DOWN = "↓"
UP = "↑"
TO = "→"
SLOWED = "▼"
FOLD = "└"
BRANCH = "├"
TRUNK = "│"
RULE = "─"
TIMES = "×"
DEGREE = "°"
MORE_ABOVE = "▴"
MORE_BELOW = "▾"
PAUSED = "‖"

BAR_FULL = "━"
BAR_HALF = "╸"
BAR_REST = "┈"
WAITS = "╌"
"""Of a rank, in a time line: not what is left of a bar, and distinct from the dot of other work without UTF-8."""
EIGHTHS = "▁▂▃▄▅▆▇█"
SHADES = "█▓▒░"
BLOCK = "▆"
"""Of bars that stand on top of each other: a line of light stays between them."""

ASCII_TWINS: dict[str, str] = {
    ERROR: "x",
    WARNING: "^",
    INFO: "o",
    CLEARED: "v",
    SELECTED: ">",
    DASH: "-",
    ELLIPSIS: "~",
    DOT: "|",
    DOWN: "v",
    UP: "^",
    TO: ">",
    SLOWED: "v",
    FOLD: "`",
    BRANCH: "|",
    TRUNK: "|",
    RULE: "-",
    TIMES: "x",
    DEGREE: " ",
    MORE_ABOVE: "^",
    MORE_BELOW: "v",
    PAUSED: "=",
    BAR_FULL: "=",
    BAR_HALF: "-",
    BAR_REST: ".",
    WAITS: "_",
    **dict(zip(EIGHTHS, "_.,-=+*#", strict=True)),
    **dict(zip(SHADES, "#%+.", strict=True)),
    "≥": ">",
    "≤": "<",
    "≠": "!",
    "±": "~",
    "µ": "u",
    "−": "-",
}
"""Glyph → ASCII character of the same width."""

_TO_ASCII = str.maketrans(ASCII_TWINS)


def to_ascii(text: str) -> str:
    """The text with every glyph replaced by its twin, and whatever else is not ASCII by ``?``."""
    if text.isascii():
        return text
    return text.translate(_TO_ASCII).encode("ascii", "replace").decode("ascii")


def speaks_utf8(environment: Mapping[str, str]) -> bool:
    """Whether output may be UTF-8, by what the user set: Python's own variable, then the locale.

    As POSIX has it, the first variable that is not empty counts, and none at all means ``C``.
    """
    encoding = environment.get("PYTHONIOENCODING", "").partition(":")[0]
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((value for name in names if (value := environment.get(name))), "C")
    return "utf" in (encoding or locale).casefold()
