"""What every feed of samples offers. A front end cannot tell the feeds apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from ..model.sample import Sample
from ..wire.command import Command
from ..wire.messages import Reply


class FeedError(Exception):
    """The feed cannot go on. The text is one sentence for people."""


class CollectorEnded(FeedError):
    """The collector is not there any more; another one could be."""


class Notice(NamedTuple):
    """Something that the reader should know about the feed itself."""

    sentence: str


class Feed(Protocol):
    """A stream of samples of one node."""

    simulated: bool
    """Nothing in it can be signalled."""
    past_samples: int
    """So many samples of the past come first, at once."""

    @property
    def title(self) -> str:
        """What it is by now, for the top line: ``live``, ``demo input-bound``, ``pid 812 has exited``…"""
        ...

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the processes that make it: when it is silent, see first whether they are run."""
        ...

    def messages(self) -> Iterator[Sample | Reply | Notice]:
        """Everything that arrives, in order; may block. Ends after `close`.

        Raises:
            FeedError: when it cannot go on.
        """
        ...

    def send(self, command: Command) -> None:
        """Ask for something; the answer, if any, comes as a reply. Never blocks for long."""
        ...

    def close(self) -> str:
        """End it, in half a second at most; from any thread, and more than once.

        Returns a line on what had to be left behind, or ''.
        """
        ...
