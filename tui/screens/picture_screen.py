"""The base of all screens: a canvas, the line below it, and something that can be selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ..glyphs import WARNING
from ..keys import hints_of
from ..lines import LineBuilder, blank
from ..view import Block, Target, View
from ..widgets.bottom_line import BottomLine
from ..widgets.canvas import Canvas
from ..widgets.tight import TightCompositor

if TYPE_CHECKING:
    from ..app import GputopApp

MIN_WIDTH, MIN_HEIGHT = 60, 15


class PictureScreen(Screen[None]):
    """Draws itself from a view, and lets the reader walk through what it shows."""

    ALLOW_SELECT = False
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "select", show=False),
        Binding("down,j", "move(1)", "select", show=False),
        Binding("pageup", "move(-10)", "ten up", show=False),
        Binding("pagedown", "move(10)", "ten down", show=False),
        Binding("home,g", "move(-100000)", "first", show=False),
        Binding("end,G", "move(100000)", "last", show=False),
        Binding("escape", "leave", "back", show=False),
        Binding("k", "signal", "signal the selected process", show=False),
        Binding("k", "move(-1)", "select", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._compositor = TightCompositor()
        self.selected: Target | None = None
        self._targets: list[Target | None] = []
        self._hints: tuple[tuple[str, str], ...] = ()

    @property
    def gputop(self) -> GputopApp:
        """The application."""
        from ..app import GputopApp

        assert isinstance(self.app, GputopApp)
        return self.app

    def compose(self) -> ComposeResult:
        yield Canvas(ascii_only=self.gputop.ascii_only)
        yield BottomLine(ascii_only=self.gputop.ascii_only)

    @property
    def bottom(self) -> BottomLine:
        """The line below."""
        return self.query_one(BottomLine)

    def draw(self, view: View, width: int, height: int) -> Block:
        """The picture, of exactly this size."""
        raise NotImplementedError

    def targets(self, view: View) -> Sequence[Target]:
        """Everything that can be selected, in order, in sight or not."""
        return ()

    def redraw(self) -> None:
        """Draw what the application shows now."""
        if not self.is_mounted:
            return
        canvas = self.query_one(Canvas)
        width, height = canvas.size
        if not width or not height:
            return
        block = self._picture(width, height)
        self._targets = block.targets
        canvas.show(block.lines)
        self.bottom.show_hints(self._hints, self.gputop.standing())

    def on_mount(self) -> None:
        self._hints = hints_of(self)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.redraw)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.redraw)

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self._targets) and (target := self._targets[event.y]) is not None:
            again = target == self.selected
            self.selected = target
            if again and event.chain > 1:
                self.open(target)
            self.redraw()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "signal":
            return self.selected is not None and self.selected.kind == "process"
        return True

    def open(self, target: Target) -> None:
        """Go into what is selected."""

    def action_move(self, steps: int) -> None:
        view = self.gputop.view(self.selected)
        found = list(self.targets(view)) if view else []
        if not found:
            return
        at = found.index(self.selected) if self.selected in found else -1 if steps > 0 else 0
        self.selected = found[min(len(found) - 1, max(0, at + steps))]
        self.redraw()
        self.gputop.explain(self.selected)

    def action_leave(self) -> None:
        """One step back: the selection, then the filter, then the screen."""
        if self.selected is not None:
            self.selected = None
            self.redraw()
        else:
            self.gputop.leave()

    def action_signal(self) -> None:
        if self.selected is not None:
            self.gputop.ask_signal(self.selected)

    def _picture(self, width: int, height: int) -> Block:
        view = self.gputop.view(self.selected)
        if width < MIN_WIDTH or height < MIN_HEIGHT:
            return _too_small(view, width, height)
        if view is None:
            waiting = LineBuilder(width).add("  waiting for the first reading", "dim").line()
            return Block.of([blank(width), waiting, *[blank(width)] * (height - 2)])
        return self.draw(view, width, height)


def _too_small(view: View | None, width: int, height: int) -> Block:
    """One line with the essential, where nothing else fits."""
    line = LineBuilder(width)
    if view is not None:
        for severity in ("error", "warning"):
            count = sum(finding.severity == severity for finding in view.judgement.active)
            from ..widgets.marks import severity_mark

            mark, role = severity_mark(severity)
            line.add(f"{mark}{count} ", role if count else "dim")
        line.add(f"{len(view.frame.gpus)} GPU ")
    line.add(f"{WARNING} enlarge to {MIN_WIDTH}x{MIN_HEIGHT + 1}", "dim")
    return Block.of([line.line(), *[blank(width)] * (height - 1)])
