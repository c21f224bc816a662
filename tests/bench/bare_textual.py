"""The least that a Textual program can be: one line-drawn widget, one changed cell a second."""

from __future__ import annotations

import time

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Lines(Widget):
    DEFAULT_CSS = "Lines { width: 1fr; height: 1fr; }"

    def on_mount(self) -> None:
        self.set_interval(1.0, lambda: self.refresh(Region(0, 0, 20, 1)))

    def render_line(self, y: int) -> Strip:
        text = f"{time.time():.3f}" if y == 0 else f"line {y}"
        return Strip([Segment(text.ljust(self.size.width))], self.size.width)


class Bare(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        yield Lines()


if __name__ == "__main__":
    Bare().run()
