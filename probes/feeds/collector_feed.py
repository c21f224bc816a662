"""Where samples come from. A front end cannot tell the feeds apart."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module

from ..model.sample import Sample
from ..scheduling.patience import Patience
from ..wire.codec import Message, Splitter, UnreadableMessage, WireError, decode, encode
from ..wire.command import Attach, Command, Stop
from ..wire.messages import Hello, Reply
from .child import PIPE_BYTES, Child, forked, readable, spawned
from .protocol import CollectorEnded, FeedError, Notice
from .restart import Backoff, Requested
from .wedged import wedged_collectors

STOP_SECONDS = 0.3
KILL_SECONDS = 0.2
LONGEST_KILL_SECONDS = 0.5
"""A dying process needs a core too, but nobody shall wait for long after pressing q."""
_TURN_SECONDS = 0.05
_SHARED = (
    *("queue", "socket", "string", "struct", "subprocess", "tempfile"),
    *(
        "..jobs.roles",
        "..jobs.titles",
        "..model.driver_errors",
        "..model.throttle_reasons",
        "..model.wait_kinds",
    ),
    "..scheduling.words",
)


class CollectorFeed:
    """Samples of a collector on this machine, which is started here, and again when it ends.

    It must be made while this process has one thread.

    Args:
        interval_seconds: between samples.
        without: names of sources that the collector shall not use.
        pids: processes to watch from the start.
        notices: sentences for the reader, who sees them when there is something to look at.
        restarts: start another one when it ends unasked; else that is an error.
    """

    simulated = False
    past_samples = 0

    def __init__(
        self,
        interval_seconds: float,
        *,
        without: Sequence[str] = (),
        pids: Sequence[int] = (),
        notices: Sequence[str] = (),
        restarts: bool = False,
    ) -> None:
        self.title = f"live pid {pids[0]}" if pids else "live"
        self._requested = Requested(interval_seconds, without, pids)
        self._backoff = Backoff() if restarts else None
        self._notices = [Notice(sentence) for sentence in notices]
        self._seen: set[int] = set()
        """Those of the processes to watch that were there."""
        self._closing = threading.Event()
        self._swap = threading.Lock()
        """Held while the child is exchanged, and by who must not meet that."""
        _load_shared()
        self._child = Child(forked(partial(_collect, self._requested)))
        self._early: list[Sample | Reply | Notice] = []
        self._unreadable = False
        """That a message could not be read has been said."""
        self._splitter = Splitter()

    @property
    def pid(self) -> int:
        """Of the collector."""
        return self._child.pid

    @property
    def pids(self) -> tuple[int, ...]:
        return (self._child.pid,)

    def first(self, seconds: float) -> Sample | None:
        """Wait for the first sample, but no longer than that; `messages` brings it all the same.

        Raises:
            FeedError: when the collector ends instead.
        """
        for message in self._read(time.monotonic() + seconds):
            self._early.append(message)
            if isinstance(message, Sample):
                return message
        return None

    def messages(self) -> Iterator[Sample | Reply | Notice]:
        yield from self._early
        self._early.clear()
        while not self._closing.is_set():
            try:
                for message in self._read():
                    yield message
                    if isinstance(message, Sample):
                        yield from [*self._notices, *self._ended(message)]
                        self._notices.clear()
            except CollectorEnded as ended:
                if self._backoff is None:
                    raise
                yield from self._restart(str(ended), self._backoff)

    def _read(self, deadline: float = math.inf) -> Iterator[Sample | Reply | Notice]:
        """What arrives until the deadline, on the monotonic clock."""
        try:
            while self._has_news(deadline):
                data = os.read(self._child.output, PIPE_BYTES)
                if not data:
                    break
                for body in self._splitter.feed(data):
                    message = self._decoded(body)
                    if message is not None and not isinstance(message, Hello):
                        yield message
            else:
                return
        except WireError as error:
            raise FeedError(str(error)) from error
        if not self._closing.is_set():
            how = self._child.ended_within(KILL_SECONDS) or "its output was closed"
            raise CollectorEnded(f"the collector ended unexpectedly ({how})")

    def _decoded(self, body: bytes) -> Message | Notice | None:
        """The message; one that cannot be read is left out, which is said once."""
        try:
            return decode(body)
        except UnreadableMessage as error:
            if self._unreadable:
                return None
            self._unreadable = True
            return Notice(f"a message of the collector could not be read and is left out ({error})")

    def _ended(self, sample: Sample) -> list[Notice]:
        """Which of the processes to watch are not there any more."""
        if not self._requested.pids or not any(
            source.name == "processes" and source.status == "ok" for source in sample.sources
        ):
            return []
        there = {process.pid for process in sample.processes}
        watched = set(self._requested.pids)
        gone = sorted((self._seen & watched) - there)
        self._seen = watched & there
        if gone and not self._seen:
            self.title = f"pid {gone[0]} has exited"
        return [Notice(f"process {pid} has exited") for pid in gone]

    def _restart(self, why: str, backoff: Backoff) -> Iterator[Notice]:
        """Wait, and start another collector, until one can be started."""
        while not self._closing.is_set():
            seconds = backoff.next_seconds(time.monotonic())
            yield Notice(f"{why}: restarting in {seconds:g} s")
            if self._closing.wait(seconds):
                return
            try:
                self._start_another()
            except OSError as error:
                why = f"the collector cannot be started ({error.strerror or error})"
            else:
                return

    def _start_another(self) -> None:
        """A new child in the place of the old one, which asks for all that was asked of that.

        Raises:
            OSError: when it cannot be started.
        """
        # It may have closed its output and live. One that hangs in the driver is enough.
        self._child.kill()
        self._child.ended_within(KILL_SECONDS)
        wedged = bool(wedged_collectors())
        with self._swap:
            if self._closing.is_set():
                return
            # A fork would copy whatever lock another thread holds just now.
            child = Child(spawned(self._requested.command(without_nvml=wedged)))
            self._child, old = child, self._child
            self._splitter = Splitter()
            old.close()

    def _has_news(self, deadline: float) -> bool:
        if deadline == math.inf:
            return True
        return readable(self._child.output, deadline - time.monotonic())

    def send(self, command: Command) -> None:
        with self._swap:
            self._requested.note(command)
            if isinstance(command, Attach):
                self.title = f"live pid {command.pid}"
            self._child.write(encode(command))

    def close(self) -> str:
        with self._swap:
            self._closing.set()
        self.send(Stop(command_id=0))
        if self._child.ended_within(STOP_SECONDS):
            return ""
        self._child.kill()
        return self._left_behind()

    def _left_behind(self) -> str:
        """A line on a collector that was killed and is still there; '' where it ends."""
        pid = self._child.pid
        patience = Patience(pid)
        latest = time.monotonic() + LONGEST_KILL_SECONDS
        while patience.waited_seconds < KILL_SECONDS and time.monotonic() < latest:
            if self._child.ended_within(_TURN_SECONDS):
                return ""
            patience.look(_TURN_SECONDS)
        if patience.waited_seconds < KILL_SECONDS:
            return f"The collector (pid {pid}) was killed, and ends as soon as it gets CPU."
        return (
            f"The collector (pid {pid}) hangs in the driver and cannot be killed; "
            "it ends by itself when the driver answers."
        )


def _load_shared() -> None:
    """What both processes load in any case, such as the screen with asyncio, the collector with ctypes."""
    for name in _SHARED:
        import_module(name, __package__)


def _collect(requested: Requested) -> None:
    from ..collector.main import collect  # in the child, beside what the front end is loading

    collect(
        interval_seconds=requested.interval_seconds,
        without=frozenset(requested.without),
        pids=tuple(requested.pids),
    )
