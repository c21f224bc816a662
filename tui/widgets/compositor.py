"""A compositor that sends the terminal the changed cells alone.

Textual's own sends, for a change in the middle of a widget, everything from the widget's left edge to
there, and makes strips of every line of the screen for it; over SSH and at one picture a second that
is most of the bytes and of the time. Whatever is not a canvas is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from textual._compositor import Compositor, CompositorUpdate

from .canvas import Canvas


class RunsUpdate(CompositorUpdate):
    """Runs of cells as the terminal is sent them, each with its place."""

    def __init__(self, runs: Sequence[tuple[int, int, str]]) -> None:
        self.runs = runs

    def render_segments(self, console: Console) -> str:
        return "".join([f"\x1b[{y + 1};{x + 1}H{text}" for y, x, text in self.runs])


class PartialCompositor(Compositor):
    """As Textual's, but partial updates of canvases are sent as they are."""

    def render_partial_update(self) -> CompositorUpdate | None:  # type: ignore[override]
        runs = self._runs()
        if runs is None:
            return super().render_partial_update()
        self._dirty_regions.clear()
        return RunsUpdate(runs) if runs else None

    def _runs(self) -> list[tuple[int, int, str]] | None:
        """What to send; ``None`` where a widget of another kind takes part."""
        runs: list[tuple[int, int, str]] = []
        for y, x1, x2 in self._regions_to_spans(self._dirty_regions):
            canvas = self._canvas_of_line(y)
            text = canvas.paint(y, x1, x2) if canvas else None
            if text is None:
                return None
            runs.append((y, x1, text))
        return runs

    def _canvas_of_line(self, y: int) -> Canvas | None:
        """The canvas that has the whole line to itself, from the top left corner of the screen on."""
        lines = self.layers_visible
        widgets = [entry[0] for entry in lines[y]] if y < len(lines) else []
        if len(widgets) > 2 or not widgets or not isinstance(widgets[0], Canvas):
            return None
        region = self.visible_widgets[widgets[0]][0]
        whole = (region.x, region.y, region.width) == (0, 0, self.size.width)
        return widgets[0] if whole else None
