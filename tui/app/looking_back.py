"""A step back through the last ten minutes while everything goes on, and the return to now."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from ...rules.finding import Judgement
from ..drawing import format
from ..session.background import in_background
from ..session.viewer import Moment
from .messages import LookedBack

if TYPE_CHECKING:
    from ..session.app_like import AppLike
    from ..session.keeper import Keeper


class LookingBack:
    """Shows moments as they were judged then.

    Args:
        app: shows them, and takes the message that one is ready.
        keeper: of the last ten minutes; ``None``: nothing is kept.
    """

    def __init__(self, app: AppLike, keeper: Keeper | None) -> None:
        self._app = app
        self._keeper = keeper
        self._moment: float | None = None
        """Unix time of the moment that is shown, or will be in a moment; ``None``: now."""
        self._working = threading.Lock()

    @property
    def is_past(self) -> bool:
        """Whether the past is shown."""
        return self._moment is not None

    def step(self, seconds: float) -> str:
        """Go so far back or on; returns what to say of it."""
        shown, newest = self._app.reader.shown, self._app.reader.newest
        if self._keeper is None or shown is None or newest is None:
            return "nothing is kept yet"
        here = shown.frame.time_seconds if self._moment is None else self._moment
        moment = self._keeper.moment(here + seconds)
        if moment is None or (seconds < 0 and moment >= here):
            return "nothing older is kept"
        if seconds > 0 and here + seconds >= newest.frame.time_seconds:
            return self.now()
        before, self._moment = self._moment, moment  # the work looks at it
        why_not = in_background(partial(self._work, self._keeper, moment), "looking back")
        if why_not:
            self._moment = before
            return why_not
        return f"at {format.clock(moment)}"

    def now(self) -> str:
        """Return; whatever is held is let go too."""
        self._moment = None
        self._app.reader.past = self._app.reader.held = None
        self._app.redraw()
        return "live again"

    def show(self, moment: float, judgement: Judgement | None) -> None:
        """One is ready, unless another one is wanted by now."""
        if moment != self._moment:
            return
        if judgement is None:
            self._app.tell(f"{self.now()}: {format.clock(moment)} is not kept any more")
            return
        history = self._app.reader.watch.history.until(judgement.frame.monotonic_seconds)
        self._app.reader.past = Moment(judgement, history)
        self._app.redraw()

    def _work(self, keeper: Keeper, moment: float) -> None:
        """On a thread of its own. Keys may come faster than moments are worked out."""
        with self._working:
            if moment == self._moment:
                self._app.post_message(LookedBack(moment, keeper.at(moment)))
