"""A feed whose samples somebody else sees too, as they come: who records them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..model.sample import Sample
from ..wire.command import Command
from ..wire.messages import Reply
from .protocol import Feed, Notice


class TappedFeed:
    """Passes everything on.

    Args:
        feed: the one that is watched.
        on_sample: called with each sample, on the thread that reads; it may not block.
    """

    def __init__(self, feed: Feed, on_sample: Callable[[Sample], None]) -> None:
        self._feed = feed
        self._on_sample = on_sample
        self.simulated = feed.simulated
        self.past_samples = feed.past_samples

    @property
    def title(self) -> str:
        return self._feed.title

    @property
    def pids(self) -> tuple[int, ...]:
        return self._feed.pids

    def messages(self) -> Iterator[Sample | Reply | Notice]:
        for message in self._feed.messages():
            if isinstance(message, Sample):
                self._on_sample(message)
            yield message

    def send(self, command: Command) -> None:
        self._feed.send(command)

    def close(self) -> str:
        return self._feed.close()
