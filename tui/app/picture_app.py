"""Screens that are pictures of what a reader sees: drawing them, and telling and asking in front of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import BindingType
from textual.reactive import Reactive
from textual.screen import Screen
from textual.theme import Theme

from ...probes.scheduling.process_limit import SENTENCE, is_process_limit
from ..console.exits import COULD_NOT_LOOK
from ..drawing.missing import why_missing
from ..drawing.target import Target
from ..screens.main_screen import MainScreen
from ..screens.picture_screen import PictureScreen
from ..session.view import View
from ..session.viewer import Reader
from . import navigation
from .bindings import BINDINGS
from .driver import QuietDriver
from .messages import Said
from .themes import THEMES, after

_BURST_SECONDS = 0.1


class PictureApp(App[int]):
    """What has to do with pictures alone. ``return_code`` is the exit code.

    Args:
        ascii_only: draw with ASCII alone.
        note: what the reader should not forget, while it is not something newer.
    """

    TITLE = "gputop"
    theme = Reactive(THEMES[0].name)
    CSS = "Screen { layers: base; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    reader: Reader

    def __init__(self, *, ascii_only: bool, note: str) -> None:
        super().__init__(driver_class=QuietDriver)
        self.ascii_only = ascii_only
        self.animation_level = "none"
        self._drawn = 0.0
        self._note = note
        self._draw_due = False

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Ours alone. Known from the first moment, or all styles would be worked out twice."""
        return {theme.name: theme for theme in THEMES}

    def get_default_screen(self) -> Screen[None]:
        return MainScreen()

    def view(self, selected: Target | None, filter: str = "") -> View | None:
        """What screens draw from; ``None`` before anything has come."""
        return self.reader.view(selected, filter)

    def redraw_soon(self) -> None:
        """Draw the screen in front, but not more often than anybody sees."""
        if self.reader.clock() - self._drawn >= _BURST_SECONDS:
            self.redraw()
        elif not self._draw_due:
            self._draw_due = True
            self.set_timer(_BURST_SECONDS, self.redraw)

    def redraw(self) -> None:
        """Draw the screen in front."""
        self._draw_due = False
        self._drawn = self.reader.clock()
        # Asked for a moment ago, perhaps, and by now there is no screen any more.
        if self.screen_stack and isinstance(self.screen, PictureScreen):
            self.screen.redraw()

    def standing(self) -> str:
        """What the reader should not forget."""
        screen = self.screen
        filter = screen.filter if isinstance(screen, PictureScreen) else ""
        return self.reader.standing() or (f"filter {filter}" if filter else self._note)

    def tell(self, sentence: str) -> None:
        """Show a sentence for a moment."""
        if isinstance(self.screen, PictureScreen):
            self.screen.tell(sentence)

    def ask(self, question: str, on_key: Callable[[str], None]) -> None:
        """Ask a question that one key answers."""
        if isinstance(self.screen, PictureScreen):
            self.screen.ask(question, on_key)

    def tell_from_thread(self, sentence: str) -> None:
        """As `tell`, from any thread."""
        self.post_message(Said(sentence))

    def on_said(self, message: Said) -> None:
        self.tell(message.sentence)

    def open(self, target: Target) -> None:
        """Go into something selected."""
        navigation.open_target(self, target)

    def leave(self) -> None:
        """Back to the screen before."""
        navigation.leave(self)

    def action_show(self, name: str) -> None:
        navigation.show(self, name)

    def action_help(self) -> None:
        navigation.show_help(self)

    def action_filter(self) -> None:
        if isinstance(self.screen, PictureScreen):
            self.screen.action_filter()

    def explain(self, target: Target) -> None:
        """Say why values of what is selected are missing."""
        judgement = self.reader.shown
        why = why_missing(judgement.frame, target) if judgement else ""
        if why:
            self.tell(why)

    def action_sort(self) -> None:
        self.tell(f"processes sorted by {self.reader.next_sort()}")
        self.redraw()

    def action_theme(self) -> None:
        self.theme = after(self.theme)
        self.tell(f"theme {self.theme}")

    def _handle_exception(self, error: Exception) -> None:
        """A fault of ours ends in one sentence and an exit code, with the terminal as it was."""
        if self.is_headless or os.environ.get("GPUTOP_DEBUG"):
            super()._handle_exception(error)
            return
        self._return_code = COULD_NOT_LOOK
        if is_process_limit(error):
            self.fault = SENTENCE
            self.panic(Text(f"gputop: {self.fault}"))
            return
        self.fault = f"internal error: {type(error).__name__}: {error}"
        self.panic(Text(f"gputop: {self.fault} (GPUTOP_DEBUG=1 shows where)"))
