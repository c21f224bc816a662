"""The one widget that draws: it keeps the last picture and asks for the changed cells alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ..changes import changed_runs
from ..glyphs import to_ascii
from ..lines import Line
from ..look import styles_of


class Canvas(Widget):
    """Shows lines. `show` takes a whole new picture; what is the same costs nothing.

    Args:
        ascii_only: replace every glyph by its ASCII twin.
    """

    DEFAULT_CSS = "Canvas { width: 1fr; height: 1fr; }"

    def __init__(self, *, ascii_only: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ascii_only = ascii_only
        self._lines: list[Line] = []
        self._strips: dict[int, Strip] = {}
        self._styles: Mapping[str, Style] = {}

    @property
    def lines(self) -> Sequence[Line]:
        """The picture shown."""
        return self._lines

    def on_mount(self) -> None:
        self._take_styles()
        self.app.theme_changed_signal.subscribe(self, lambda _: self.restyle())

    def restyle(self) -> None:
        """Draw everything anew, in the colours that the theme has now."""
        self._take_styles()
        self._strips.clear()
        self.refresh()

    def show(self, lines: Sequence[Line]) -> None:
        """Replace the picture, and repaint where it differs."""
        before, self._lines = self._lines, list(lines)
        if len(before) != len(self._lines):
            self._strips.clear()
            self.refresh()
            return
        regions = [
            Region(start, y, end - start, 1)
            for y, (old, new) in enumerate(zip(before, self._lines, strict=True))
            if old != new
            for start, end in self._changed(y, old, new)
        ]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = self._strip(y)
        return strip

    def _changed(self, y: int, old: Line, new: Line) -> list[tuple[int, int]]:
        self._strips.pop(y, None)
        return changed_runs(old, new)

    def _strip(self, y: int) -> Strip:
        if y >= len(self._lines):
            return Strip.blank(self.size.width)
        styles = self._styles
        plain = to_ascii if self._ascii_only else str
        return Strip([Segment(plain(text), styles.get(role)) for text, role in self._lines[y]])

    def _take_styles(self) -> None:
        self._styles = styles_of(self.app.theme_variables)
