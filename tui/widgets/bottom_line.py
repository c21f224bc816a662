"""The last line: which keys do what; or a notice, a question, or what is being typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from ..drawing.glyphs import to_ascii
from ..drawing.lines import Line, LineBuilder, plain
from .given_back import give_back
from .key_hints import hint_spans
from .look import app_of, styles_of

NOTICE_SECONDS = 4.0
_CURSOR = "█"


class BottomLine(Widget, can_focus=False):
    """One line. It takes the keyboard while it asks for something."""

    DEFAULT_CSS = "BottomLine { width: 1fr; height: 1; dock: bottom; }"

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._styles: Mapping[str, Style] = {}
        self._hints: tuple[tuple[str, str], ...] = ()
        self._notice = ""
        self._notices = 0
        self._standing = ""
        self._question: tuple[str, Callable[[str], None]] | None = None
        self._typed: str | None = None
        self._on_typed: Callable[[str, bool], None] = lambda _text, _done: None

    def on_mount(self) -> None:
        self._take_styles()
        app_of(self).theme_changed_signal.subscribe(self, lambda _: self._take_styles())

    def on_unmount(self) -> None:
        app_of(self).theme_changed_signal.unsubscribe(self)
        give_back(self._styles_cache)

    def show_hints(self, hints: tuple[tuple[str, str], ...], standing: str) -> None:
        """Keys with what they do, and a state that should not be forgotten, such as a filter."""
        if (hints, standing) != (self._hints, self._standing):
            self._hints, self._standing = hints, standing
            self.refresh()

    def tell(self, text: str) -> None:
        """Show a sentence for a moment."""
        self._notice = plain(text)
        self._notices += 1
        number = self._notices
        self.refresh()
        self.set_timer(NOTICE_SECONDS, lambda: self._forget(number))

    def ask(self, question: str, on_key: Callable[[str], None]) -> None:
        """Ask a question that one key answers."""
        self._question = (plain(question), on_key)
        self._take_keyboard()

    def edit(self, text: str, on_typed: Callable[[str, bool], None]) -> None:
        """Let the reader type.

        Args:
            text: to begin with.
            on_typed: called with the text at each change, and whether it was the last.
        """
        self._typed, self._on_typed = text, on_typed
        self._take_keyboard()

    @property
    def typing(self) -> bool:
        """Whether the keyboard is taken."""
        return self._typed is not None or self._question is not None

    def on_key(self, event: events.Key) -> None:
        if not self.typing:
            return
        event.stop()
        event.prevent_default()
        if self._question is not None:
            _, answer = self._question
            self._question = None
            self._give_back()
            answer(event.key)
        elif event.key in ("enter", "escape"):
            self._finish("" if event.key == "escape" else self._typed or "")
        else:
            self._type(event)

    def on_paste(self, event: events.Paste) -> None:
        if self._typed is not None:
            event.stop()
            self._change(self._typed + plain(event.text.partition("\n")[0]))

    def render_line(self, y: int) -> Strip:
        convert = to_ascii if self._ascii_only else str
        line = self._line(self.size.width)
        return Strip([Segment(convert(text), self._styles.get(role)) for text, role in line])

    def _line(self, width: int) -> Line:
        line = LineBuilder(width).gap()
        if self._question is not None:
            return line.add(f" {self._question[0]} ", "mark").line()
        if self._typed is not None:
            return (
                line.add("/", "key")
                .add(self._typed + _CURSOR)
                .add("  Enter keeps, Esc clears", "dim")
                .line()
            )
        if self._notice:
            return line.add(self._notice, "strong").line()
        if self._standing:
            line.add(f" {self._standing} ", "mark").gap(2)
        return line.extend(hint_spans(self._hints, line.room)).line()

    def _type(self, event: events.Key) -> None:
        typed = self._typed or ""
        if event.key == "backspace":
            self._change(typed[:-1])
        elif event.key == "ctrl+u":
            self._change("")
        elif event.is_printable and event.character:
            self._change(typed + event.character)

    def _change(self, text: str) -> None:
        self._typed = text
        self._on_typed(text, False)
        self.refresh()

    def _finish(self, text: str) -> None:
        self._typed = None
        self._give_back()
        self._on_typed(text, True)

    def _take_keyboard(self) -> None:
        self.can_focus = True
        self.focus()
        self.refresh()

    def _give_back(self) -> None:
        self.can_focus = False
        self.screen.set_focus(None)
        self.refresh()

    def _forget(self, number: int) -> None:
        if number == self._notices:
            self._notice = ""
            self.refresh()

    def _take_styles(self) -> None:
        app = app_of(self)
        self._styles = styles_of(app.theme_variables, colors=not app.no_color)
        self.refresh()
