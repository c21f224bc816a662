"""The worker behind a screen: feed → frame → judgement, on one thread, newest first."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...probes.derive.cache import DeriveCache
from ...probes.derive.frame import derive
from ...probes.feeds.protocol import Feed, FeedError, Notice
from ...probes.model.frame import Frame
from ...probes.model.process_frames import ProcessFrame
from ...probes.wire.command import (
    Attach,
    Command,
    Detach,
    LookAtWaits,
    SendSignal,
    SetInterval,
    ShowEnvironment,
    TakeExactStack,
    TakeStacks,
)
from ...probes.wire.messages import Reply
from ...rules.closer_look import LOOK_SECONDS, standing, uneven, worth_a_look
from ...rules.engine import Engine
from ...rules.finding import Judgement
from ...rules.history import History

_MOST_ASKED = 64
"""Questions whose answers are waited for; a collector that ended answers none."""


class Watch:
    """Judges everything that a feed brings.

    Args:
        feed: closed by `close`.
        engine: used from the worker thread alone; its history may be looked at from any thread.
        pids: the processes that the feed was asked for.
        observe: is shown each judgement first, on the thread that judges.
    """

    def __init__(
        self,
        feed: Feed,
        engine: Engine,
        pids: Sequence[int] = (),
        observe: Callable[[Judgement], None] = lambda _: None,
    ) -> None:
        self._feed = feed
        self._observe = observe
        self._asked = tuple(pids)
        self._engine = engine
        self._numbers = itertools.count(1)
        self._on_reply: dict[int, Callable[[Reply], None]] = {}
        self._on_notice: Callable[[str], None] = lambda _: None
        self.stuck = ""
        """What `close` had to leave behind, one line, or empty."""
        self.cut_short = ""
        """Why it was closed before its time, one line, or empty."""

    @property
    def title(self) -> str:
        """What is watched: ``live``, ``demo input-bound``…"""
        return self._feed.title

    @property
    def simulated(self) -> bool:
        """Nothing here is real."""
        return self._feed.simulated

    @property
    def past_samples(self) -> int:
        """So many judgements of the past come first, at once."""
        return self._feed.past_samples

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the processes that must be run for something to come, other than this one."""
        return self._feed.pids

    @property
    def asked_pid(self) -> int | None:
        """Of the job that was asked for last; ``None`` where the whole node is watched."""
        return self._asked[-1] if self._asked else None

    @property
    def history(self) -> History:
        """The recent past."""
        return self._engine.history

    def judgements(self) -> Iterator[Judgement]:
        """One for each sample, on the caller's own thread.

        Raises:
            FeedError: when the feed cannot go on.
        """
        frame: Frame | None = None
        cache = DeriveCache()
        for message in self._feed.messages():
            if isinstance(message, Reply):
                self._answer(message)
                continue
            if isinstance(message, Notice):
                self._on_notice(message.sentence)
                continue
            frame = derive(frame, message, cache)
            judgement = self._engine.judge(frame)
            unclear = worth_a_look(judgement)
            if unclear:
                self.take_stacks(unclear, LOOK_SECONDS)
            apart = uneven(judgement.frame)
            if apart:
                self.take_stacks(apart, LOOK_SECONDS, shares=True)
            waiting = standing(judgement.frame)
            if waiting:
                self._send(
                    LookAtWaits(
                        command_id=self._next(),
                        pids=waiting,
                        seconds=max(LOOK_SECONDS, 2 * frame.interval_seconds),
                    )
                )
            self._observe(judgement)
            yield judgement

    def start(
        self,
        on_judgement: Callable[[Judgement], None],
        on_end: Callable[[str], None],
        on_notice: Callable[[str], None],
    ) -> None:
        """Judge on a thread of this object's, and call back from there.

        Args:
            on_judgement: takes each judgement; a newer one replaces an older one.
            on_end: takes the reason, one sentence, when nothing comes any more; empty after `close`.
            on_notice: takes a sentence that the reader should see.
        """
        self._on_notice = on_notice

        def work() -> None:
            reason = ""
            try:
                for judgement in self.judgements():
                    on_judgement(judgement)
            except FeedError as error:
                reason = str(error)
            on_end(reason)

        threading.Thread(target=work, name="judge", daemon=True).start()

    def set_interval(self, seconds: float) -> None:
        """Ask for a sample every so many seconds."""
        self._send(SetInterval(command_id=self._next(), seconds=seconds))

    def attach(self, pid: int) -> None:
        """Watch this process and its tree, in the place of those that were asked for before."""
        # Only attaching brings a sample at once: so it comes last, or that would have both jobs in it.
        for before in self._asked:
            if before != pid:
                self._send(Detach(command_id=self._next(), pid=before))
        self._send(Attach(command_id=self._next(), pid=pid))
        self._asked = (pid,)

    def take_stacks(self, pids: Sequence[int], seconds: float, *, shares: bool = False) -> None:
        """Ask for the Python stacks of these processes, every other second for so many seconds.

        Args:
            pids: of whom.
            seconds: for how long; 0: no more.
            shares: sample them too, for the shares of phases.
        """
        command = TakeStacks(
            command_id=self._next(), pids=tuple(pids), seconds=seconds, shares=shares
        )
        self._send(command)

    def send_signal(
        self,
        process: ProcessFrame,
        signal: int,
        on_reply: Callable[[Reply], None] = lambda _: None,
    ) -> None:
        """Signal exactly that process; ``on_reply`` is called from the worker thread."""
        self._ask(SendSignal, process, on_reply, signal=signal)

    def show_environment(self, process: ProcessFrame, on_reply: Callable[[Reply], None]) -> None:
        """Ask for the whole environment of one process; the answer is for the screen only."""
        self._ask(ShowEnvironment, process, on_reply)

    def take_exact_stack(
        self, process: ProcessFrame, *, native: bool, on_reply: Callable[[Reply], None]
    ) -> None:
        """Stop exactly that process for a moment and read its stack."""
        self._ask(TakeExactStack, process, on_reply, native=native)

    def close(self) -> None:
        """End it, in half a second at most, whatever hangs."""
        self.stuck = self._feed.close()

    def _next(self) -> int:
        return next(self._numbers)

    def _ask(
        self,
        kind: type[SendSignal | ShowEnvironment | TakeExactStack],
        process: ProcessFrame,
        on_reply: Callable[[Reply], None],
        **more: Any,
    ) -> None:
        """Something about exactly that process, which is answered."""
        number = self._next()
        self._on_reply[number] = on_reply
        if len(self._on_reply) > _MOST_ASKED:
            del self._on_reply[next(iter(self._on_reply))]
        start = process.start_time_seconds
        self._send(kind(command_id=number, pid=process.pid, start_time_seconds=start, **more))

    def _send(self, command: Command) -> None:
        self._feed.send(command)

    def _answer(self, reply: Reply) -> None:
        handler = self._on_reply.pop(reply.command_id, None)
        if handler is not None:
            handler(reply)
