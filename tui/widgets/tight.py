"""A compositor that sends the terminal the changed cells alone.

Textual's own sends, for a change in the middle of a widget, everything from the widget's left edge to
there; over SSH that is most of the bytes. Nothing else about it is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import Compositor, CompositorUpdate
from textual.strip import Strip

_RESET = "\x1b[0m"


class RunsUpdate(CompositorUpdate):
    """Runs of cells, each with its place on the screen."""

    def __init__(self, runs: Sequence[tuple[int, int, Strip]]) -> None:
        self.runs = runs

    def render_segments(self, console: Console) -> str:
        colours = console._color_system or ColorSystem.TRUECOLOR  # pyright: ignore[reportPrivateUsage]
        return "".join(
            f"\x1b[{y + 1};{x + 1}H{_rendered(strip, colours)}" for y, x, strip in self.runs
        )


class TightCompositor(Compositor):
    """As Textual's, except for what `render_partial_update` returns."""

    def render_partial_update(self) -> CompositorUpdate | None:  # type: ignore[override]
        regions = self._dirty_regions.copy()
        self._dirty_regions.clear()
        spans = list(self._regions_to_spans(regions))
        if not spans:
            return None
        dirty = {y for y, _, _ in spans}
        chops = self._render_chops(self.size.region, dirty.__contains__)
        lines = {y: Strip.join(chops[y].values()) for y in dirty if y < len(chops)}
        return RunsUpdate(
            [(y, x1, lines[y].crop(x1, x2)) for y, x1, x2 in spans if y in lines]
        )


def _rendered(strip: Strip, colours: ColorSystem) -> str:
    """The strip as text, with a style sent only where it makes a difference."""
    parts: list[str] = []
    current: Style | None = None
    for text, style, _ in strip:
        if style is not current and not (text.isspace() and _ground(style) == _ground(current)):
            parts.append(f"\x1b[0;{_code(style, colours)}m" if style else _RESET)
            current = style
        parts.append(text)
    if current is not None:
        parts.append(_RESET)
    return "".join(parts)


def _code(style: Style, colours: ColorSystem) -> str:
    return style._ansi or Strip.render_ansi(style, colours)  # pyright: ignore[reportPrivateUsage]


def _ground(style: Style | None) -> tuple[object, ...]:
    """What spaces show of a style."""
    if style is None:
        return (None, None, None, None)
    return (style.bgcolor, style.reverse, style.underline, style.strike)
