"""The base of all screens: a canvas, the line below it, and something that can be selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ..drawing.explanations import Section
from ..drawing.lines import LineBuilder, blank
from ..drawing.roles import faded
from ..drawing.target import Block, Target
from ..panels.too_small import too_small
from ..session.view import MIN_HEIGHT, MIN_WIDTH, View
from ..widgets.bottom_line import BottomLine
from ..widgets.canvas import Canvas
from ..widgets.compositor import PartialCompositor
from ..widgets.given_back import give_back
from ..widgets.keys import hints_of
from ..widgets.look import app_of

if TYPE_CHECKING:
    from ..session.app_like import AppLike

BACK = Binding("escape", "leave", "back")
"""For screens that lie over the main one."""
SCROLLING: tuple[BindingType, ...] = (
    Binding("up,k", "move(-1)", "scroll", show=False),
    Binding("down,j", "move(1)", "scroll", show=False),
)
"""For screens on which nothing is selected."""
_WHERE_NOTHING_FITS = (("q", "quit"),)


class PictureScreen(Screen[None]):
    """Draws itself from a view, and lets the reader walk through what it shows."""

    ALLOW_SELECT = False
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "select", show=False),
        Binding("down,j", "move(1)", "select", show=False),
        Binding("pageup", "move(-10)", "ten up", show=False),
        Binding("pagedown", "move(10)", "ten down", show=False),
        Binding("home,g", "move(-100000)", "first", show=False),
        Binding("end,G", "move(100000)", "last", show=False),
        Binding("escape", "leave", "back", show=False),
        Binding("x", "signal", "signal the process", show=False),
    ]
    NAME: ClassVar[str] = ""
    """Of its kind. No id: one that is leaving is still there when the next of its kind comes."""
    WITHOUT: ClassVar[frozenset[str]] = frozenset({"signal"})
    """Actions, of its own or of the application, that do nothing here."""

    def __init__(self) -> None:
        super().__init__(name=self.NAME)
        self._compositor = PartialCompositor()
        self._canvas: Canvas | None = None
        self._bottom: BottomLine | None = None
        self.selected: Target | None = None
        self.filter = ""
        self._targets: list[Target | None] = []
        self._hints: tuple[tuple[str, str], ...] = ()
        self._redraw_due = False

    @property
    def gputop(self) -> AppLike:
        """The application."""
        return cast("AppLike", app_of(self))

    @property
    def first_in_sight(self) -> Target | None:
        """The uppermost of what can be selected."""
        return next(filter(None, self._targets), None)

    def compose(self) -> ComposeResult:
        ascii_only = self.gputop.ascii_only
        self._canvas, self._bottom = (
            Canvas(ascii_only=ascii_only),
            BottomLine(ascii_only=ascii_only),
        )
        yield self._canvas
        yield self._bottom

    def on_unmount(self) -> None:
        give_back(self._styles_cache)

    def tell(self, sentence: str) -> None:
        """Show a sentence for a moment."""
        if self._bottom is not None and self._bottom.is_mounted:
            self._bottom.tell(sentence)

    def ask(self, question: str, on_key: Callable[[str], None]) -> None:
        """Ask a question that one key answers."""
        if self._bottom is not None and self._bottom.is_mounted:
            self._bottom.ask(question, on_key)

    def edit(self, text: str, on_typed: Callable[[str, bool], None]) -> None:
        """Let the reader type."""
        if self._bottom is not None and self._bottom.is_mounted:
            self._bottom.edit(text, on_typed)

    def draw(self, view: View, width: int, height: int) -> Block:
        """The picture, of exactly this size."""
        raise NotImplementedError

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        """For the help: everything that the picture of this size shows. Each screen has its own."""
        raise NotImplementedError

    def targets(self, view: View) -> Sequence[Target]:
        """Everything that can be selected, in order, in sight or not."""
        return ()

    def view(self) -> View | None:
        """What to draw from; ``None`` before anything has come."""
        return self.gputop.view(self.selected, self.filter)

    def redraw(self) -> None:
        """Draw what the application shows now."""
        canvas, bottom = self._canvas, self._bottom
        if canvas is None or bottom is None or not (canvas.is_mounted and bottom.is_mounted):
            return
        width, height = canvas.size
        if not width or not height:
            return
        view = self.view()
        block = picture(view, width, height, self.draw)
        self._targets = block.targets
        canvas.show(block.lines)
        fits = width >= MIN_WIDTH and height >= MIN_HEIGHT
        bottom.show_hints(self._hints if fits else _WHERE_NOTHING_FITS, self.gputop.standing())

    def _redraw_soon(self) -> None:
        """Once, after whatever Textual has to do: at the start it tells of a size four times."""
        if not self._redraw_due:
            self._redraw_due = True
            self.call_after_refresh(self._redraw_due_now)

    def _redraw_due_now(self) -> None:
        self._redraw_due = False
        self.redraw()

    def on_mount(self) -> None:
        self._hints = hints_of(self)

    def on_resize(self, event: events.Resize) -> None:
        if event.size != app_of(self).size:
            # Textual would lay out for this older size, tell itself so, and swing between both for ever.
            event.prevent_default()
            return
        self._redraw_soon()

    def on_screen_resume(self) -> None:
        self._redraw_soon()

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
        return action not in self.WITHOUT

    def open(self, target: Target) -> None:
        """Go into what is selected."""

    def begin_anew(self) -> None:
        """Another job is watched: what was chosen of the one before is nothing any more."""
        self.selected = None

    def action_move(self, steps: int) -> None:
        view = self.view()
        found = list(self.targets(view)) if view else []
        if not found:
            return
        self.selected = found[_moved(found, self.selected, steps)]
        self.redraw()
        self.gputop.explain(self.selected)

    def action_leave(self) -> None:
        """One step back: the selection, then the filter, then the screen."""
        if self.selected is not None:
            self.selected = None
        elif self.filter:
            self.filter = ""
        else:
            self.gputop.leave()
        self.redraw()

    def action_filter(self) -> None:
        self.edit(self.filter, self._filter)

    def action_signal(self) -> None:
        if self.selected is not None and self.selected.kind == "process":
            self.gputop.requests.signal(self.selected)
        else:
            self.tell("select a process first")

    def _filter(self, text: str, done: bool) -> None:
        self.filter = text
        self.redraw()


def _moved(found: Sequence[Target], selected: Target | None, steps: int) -> int:
    """Where the selection goes; where there was none, to the first."""
    if selected is None or selected not in found:
        return 0
    return min(len(found) - 1, max(0, found.index(selected) + steps))


def picture(
    view: View | None, width: int, height: int, draw: Callable[[View, int, int], Block]
) -> Block:
    """Exactly ``height`` lines of exactly ``width`` cells, whatever the size and whatever is known."""
    if view is None:
        waiting = LineBuilder(width).add("  waiting for the first reading", "dim").line()
        lines = [*[blank(width)] * (height > 1), waiting, *[blank(width)] * (height - 2)]
        return Block.of(lines)
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Block.of(too_small(view, width, height))
    block = draw(view, width, height)
    if not view.silent_seconds and view.ended is None:
        return block
    first, *others = block.lines
    return Block([first, *map(faded, others)], block.targets)
