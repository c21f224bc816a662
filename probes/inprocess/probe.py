"""The probe: what is started in a training process, once, and what its instruments report to.

Nothing here may slow the job, raise into it, print, or keep it from ending. What goes wrong switches
off as little as possible and is reported in the page.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from . import layout
from .cost import Cost
from .ending import at_exit
from .garbage import Garbage
from .identity import identity
from .instrument import ON
from .interactive import use_if_interactive
from .page import Page
from .slots import Slots
from .steps import Steps
from .track import Track
from .worker_server import start_when_distributed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .interface import InstrumentLike

LOOK_SECONDS = 1.0
"""Between two looks at what is not written down as it happens."""
_TOUCH_SECONDS = 600.0
_MOST_THREAD_NAMES = 64


class Probe:
    """The probe of this process.

    Attributes:
        page: it writes there.
        track: of the calling thread, made at its first phase; see `Track`.
        steps: of the main loop.
        at_step_end: functions called in the loop's thread after each step.
        gauges: functions asked once a second, in the probe's own thread, for what they know.
        instruments: all that were tried, by name.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.at_step_end: list[Callable[[layout.Step], None]] = []
        self._mark: Callable[[int, int], None] | None = None
        self.gauges: list[Callable[[], dict[str, object]]] = []
        self.instruments: dict[str, InstrumentLike] = {}
        self._facts: dict[str, object] = {}
        self._facts_lock = threading.Lock()
        self._threads: dict[str, str] = {}
        self._user_codes: dict[str, int] = {}
        self._ended = False
        self._slots = Slots(page.words, self._name_thread)
        self._local = self._slots.local
        self._off = frozenset(os.environ.get("GPUTOP_PROBE_OFF", "").replace(",", " ").split())
        self._loop = self._slots.main
        self._loop_known = False
        self.steps = self._new_steps()
        self._cost = Cost(self)
        self._settled = False
        """Whether its own thread has taken over: until then facts are gathered, and not stored."""
        self.tell(**identity())

    def start(self) -> None:
        """Begin: the page is announced, the looking begins."""
        self._slots.track()
        self.use(Garbage(self))
        use_if_interactive(self)
        start_when_distributed(self)
        at_exit(self._at_exit)
        threading.Thread(target=self._look, name="gputop-probe", daemon=True).start()

    def track(self) -> Track:
        """Of the calling thread."""
        return self._slots.track()

    def known_track(self) -> Track | None:
        """The same, if the thread has had a phase already."""
        return self._slots.known()

    def tracks(self) -> list[Track]:
        """Of all threads that have one."""
        return self._slots.all()

    def loop_track(self) -> Track | None:
        """Of the calling thread, if it is the one whose steps are counted."""
        track: Track | None = getattr(self._local, "track", None)
        return track if track is self._loop else None

    def loop_is_main(self) -> bool:
        """Whether that is the main thread."""
        return self._loop is self._slots.main

    def claim_loop(self) -> Track | None:
        """The calling thread trains: a backward or an optimizer runs in it. Its track, if its steps are
        the ones that are counted.

        The main thread is taken for the one that trains, until another one shows that it is. Ray, for
        one, runs the loop in a thread.
        """
        track: Track = getattr(self._local, "track", None) or self._slots.track()
        if not self._loop_known:
            self._loop_known = True
            if track is not self._loop:
                self._loop = track
                self.tell_phases(self._mark)
                self.page.forget_steps()
                self.steps = self._new_steps()
                self.tell(main_slot=self._slots.slot(track))
        return track if track is self._loop else None

    def tell_phases(self, mark: Callable[[int, int], None] | None) -> None:
        """Have that function called in the loop's thread with each phase, and when it has begun."""
        for track in self._slots.all():
            track.tell(None)
        self._mark = mark
        self._loop.tell(mark)

    def use(self, instrument: InstrumentLike) -> None:
        """Put an instrument in, unless the user has named it in ``GPUTOP_PROBE_OFF``."""
        self.instruments[instrument.name] = instrument
        if instrument.name in self._off:
            instrument.state = "off: named in GPUTOP_PROBE_OFF"
            self.tell_hooks()
        else:
            instrument.start()

    def ask(self, gauge: Callable[[], dict[str, object]]) -> None:
        """Have that function asked once a second; an instrument that is put in again says so again."""
        if gauge not in self.gauges:
            self.gauges.append(gauge)

    def code(self, phase: str) -> int:
        """Of a fixed phase or of one of the user's own; of ``other`` when there are too many."""
        found = layout.CODES.get(phase) or self._user_codes.get(phase)
        if found:
            return found
        if layout.USER_CODE + len(self._user_codes) >= layout.MAX_CODES:
            return layout.CODES["other"]
        code = layout.USER_CODE + len(self._user_codes)
        self._user_codes[phase] = code
        self.tell(phase_names={str(code): name[:64] for name, code in self._user_codes.items()})
        return code

    def tell(self, **facts: object) -> None:
        """Put facts into the page; ``None`` takes one out. The keys are those of the reader."""
        with self._facts_lock:
            for name, value in facts.items():
                if value is None:
                    self._facts.pop(name, None)
                else:
                    self._facts[name] = value
            if self._settled:
                self.page.facts.store_json(self._facts)

    def tell_hooks(self) -> None:
        """Put the state of all instruments into the page."""
        self.tell(hooks={name: each.state for name, each in self.instruments.items()})

    def tell_counting(self, instrument: InstrumentLike) -> None:
        """An instrument that tells of steps went off, or on again: what was begun of a step is none.

        Until a step ends after this moment, the number and the age of the last one say nothing.
        """
        if not self._slots.left and self.steps.forget():
            state = "was off until now" if instrument.state == ON else instrument.state
            why = f"{instrument.name}: {state}"
            self.tell(steps_off={"since": time.perf_counter_ns(), "why": why[:200]})

    def _new_steps(self) -> Steps:
        page = self.page
        return Steps(self._loop, page.store_newest, self.at_step_end, page.store_evaluations)

    def _name_thread(self, thread: int, name: str) -> None:
        self._threads[str(thread)] = name
        while len(self._threads) > _MOST_THREAD_NAMES:
            del self._threads[next(iter(self._threads))]
        self.tell(threads=dict(self._threads))

    def _settle(self) -> None:
        """What takes longer than all the rest of a start: nothing of it is needed to begin."""
        from .control import Control

        with self._facts_lock:
            self._settled = True
            self.page.facts.store_json(self._facts)
        control = Control(self)
        self.use(control)
        if self._slots.left:
            control.stop("left behind")

    def _look(self) -> None:
        tidying = self.page.tidy()
        self._tidy(tidying)
        self._settle()
        touched = time.monotonic()
        while not self._slots.left:
            try:
                self._look_once()
                self._tidy(tidying)
                if time.monotonic() - touched > _TOUCH_SECONDS:
                    self.page.touch()
                    touched = time.monotonic()
            except Exception as error:
                self.tell(trouble=f"{type(error).__name__}: {error}"[:200])
            time.sleep(LOOK_SECONDS)

    def _tidy(self, tidying: Iterator[int]) -> None:
        try:
            next(tidying, None)
        except OSError:
            return  # the directory is gone: nothing is left to be tidied

    def _look_once(self) -> None:
        found: dict[str, object] = {"at": time.perf_counter_ns()}
        for function in tuple(self.gauges):
            try:
                found.update(function())
            except Exception as error:
                self.gauges.remove(function)
                name = getattr(function, "__qualname__", "a gauge")
                self.tell(trouble=f"{name}: {type(error).__name__}: {error}"[:200])
        found["cost_ratio"] = self._cost.look()
        self.page.gauges.store_json(found)

    def retire(self, reason: str) -> None:
        """This process turns out to be none that trains: take all out, and the page away."""
        self._slots.left = True
        for instrument in self.instruments.values():
            instrument.stop(reason)
        self.page.remove()

    def leave(self) -> None:
        """In a forked child: write no more into the parent's page."""
        self._facts_lock = threading.Lock()  # another thread may have held it
        self.page.leave()
        self._slots.leave(self.page.words)
        for instrument in self.instruments.values():
            instrument.stop("left behind in the parent")

    def _at_exit(self) -> None:
        if self._slots.left or self._ended:
            return
        self._ended = True
        try:
            self.steps.finish()
        except Exception as trouble:
            self.tell(trouble=f"the last step: {type(trouble).__name__}: {trouble}"[:200])
        self._slots.main.enter(layout.CODES["none"])
        # What an exception has ended is worth looking at; what has come to its end is not.
        error = (
            getattr(sys, "last_exc", None)
            or getattr(sys, "last_value", None)
            or sys.exc_info()[1]  # where multiprocessing ends a child, it is still on its way
        )
        if error is None:
            try:
                self.page.remove()
            except OSError:
                pass  # a log-out may have removed it
        else:
            self.tell(trouble=f"the job ended with {type(error).__name__}")
