"""The one widget that draws: it keeps the last picture and asks for the changed cells alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from ..drawing.changes import changed_cells
from ..drawing.glyphs import to_ascii
from ..drawing.lines import Line, width_of
from .given_back import give_back
from .look import app_of, codes_of, styles_of

_RESET = "\x1b[0m"
_PLAIN = ("", "NoneNoneNoneNone")
_SYSTEMS = {
    "standard": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
}


class Canvas(Widget):
    """Shows lines. `show` takes a whole new picture; what is the same costs nothing.

    Args:
        ascii_only: replace every glyph by its ASCII twin.
    """

    DEFAULT_CSS = "Canvas { width: 1fr; height: 1fr; }"

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._convert = to_ascii if ascii_only else str
        self._lines: list[Line] = []
        self._shown_size = Size(0, 0)
        self._styles: dict[str, Style] = {}
        self._codes: dict[str, tuple[str, str]] = {}

    @property
    def lines(self) -> Sequence[Line]:
        """The picture shown."""
        return self._lines

    def on_mount(self) -> None:
        self._take_styles()
        app_of(self).theme_changed_signal.subscribe(self, lambda _: self._restyle())

    def on_unmount(self) -> None:
        # What is told of themes holds whoever it tells: else every screen that was ever open would stay.
        app_of(self).theme_changed_signal.unsubscribe(self)
        give_back(self._styles_cache)

    def show(self, lines: Sequence[Line]) -> None:
        """Replace the picture, and repaint where it differs."""
        before, self._lines = self._lines, list(lines)
        size, self._shown_size = self._shown_size, self.size
        if size != self.size or len(before) != len(self._lines):
            self.refresh()
            return
        changed = [
            (y, changed_cells(old, new))
            for y, (old, new) in enumerate(zip(before, self._lines, strict=True))
            if old != new
        ]
        regions = [Region(cells[0], y, cells[1] - cells[0], 1) for y, cells in changed if cells]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return Strip.blank(self.size.width, self._styles.get("text"))
        convert, styles = self._convert, self._styles
        return Strip([Segment(convert(text), styles.get(role)) for text, role in self._lines[y]])

    def paint(self, y: int, start: int, end: int) -> str | None:
        """Cells of a line as what the terminal is sent; ``None`` where strips must do it."""
        if y >= len(self._lines):
            return None
        line = self._lines[y]
        ends = tuple(accumulate([width_of(text) for text, _ in line]))
        if not line or ends[-1] != sum([len(text) for text, _ in line]):
            return None  # a character is not of one cell
        parts: list[str] = []
        code, ground = _PLAIN
        for at in range(bisect_right(ends, start), len(line)):
            text, role = line[at]
            first = ends[at] - len(text)
            if first >= end:
                break
            if first < start or ends[at] > end:
                text = text[max(0, start - first) : end - first]
            wanted, wanted_ground = self._codes.get(role, _PLAIN)
            if wanted != code and not (wanted_ground == ground and text.isspace()):
                parts.append(f"\x1b[0;{wanted}m" if wanted else _RESET)
                code, ground = wanted, wanted_ground
            parts.append(text)
        return self._convert("".join([*parts, _RESET if code else ""]))

    def _restyle(self) -> None:
        self._take_styles()
        self.refresh()

    def _take_styles(self) -> None:
        app = app_of(self)
        self._styles = styles_of(app.theme_variables, colors=not app.no_color)
        name = app.console.color_system
        system = _SYSTEMS.get(name or "", ColorSystem.TRUECOLOR)
        self._codes = codes_of(self._styles, system)
