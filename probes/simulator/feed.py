"""The simulated node as a feed: what ``gputop demo`` watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from ..model.sample import Sample
from ..wire.command import Command, SetInterval, TakeStacks
from ..wire.limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from ..wire.messages import Reply
from .node import SimulatedNode


class DemoFeed:
    """A simulated node, with two minutes of its past first.

    Args:
        scenario: name in `catalogue.SCENARIOS`.
        interval_seconds: between samples.
    """

    PAST_STEP_SECONDS = 2.0

    simulated = True
    past_samples = 60

    def __init__(self, scenario: str, interval_seconds: float = 1.0) -> None:
        self.title = f"demo {scenario}"
        self._interval = interval_seconds
        self._node = SimulatedNode(scenario, start_time_seconds=time.time())
        self._closed = False
        self._hurried = threading.Event()
        self._began = time.monotonic()
        self._asked: float | None = None
        """Since when stacks have been wanted, and until when; seconds after the start."""
        self._until = 0.0

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    def messages(self) -> Iterator[Sample | Reply]:
        for number in range(self.past_samples, 0, -1):
            yield self._node.sample_at(-number * self.PAST_STEP_SECONDS, self.PAST_STEP_SECONDS)
        due = self._began = time.monotonic()
        while not self._closed:
            yield self._sample(due - self._began)
            due = max(due + self._interval, time.monotonic())
            if self._hurried.wait(due - time.monotonic()):
                self._hurried.clear()
                due = time.monotonic()

    def send(self, command: Command) -> None:
        if isinstance(command, SetInterval):
            self._interval = min(MAX_INTERVAL_SECONDS, max(MIN_INTERVAL_SECONDS, command.seconds))
            self._hurried.set()
        elif isinstance(command, TakeStacks):
            self._want_stacks(command.seconds)

    def close(self) -> str:
        self._closed = True
        self._hurried.set()
        return ""

    def _sample(self, elapsed: float) -> Sample:
        sample = self._node.sample_at(elapsed, self._interval)
        asked = self._asked
        if asked is None or elapsed > self._until:
            self._asked = None
            return sample
        return self._node.with_stacks(sample, elapsed, asked)

    def _want_stacks(self, seconds: float) -> None:
        now = time.monotonic() - self._began
        self._until = now + seconds
        if self._asked is None:
            self._asked = now
            self._hurried.set()
