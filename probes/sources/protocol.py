"""The contract of a source: something that can be read again and again, and may fail or hang.

A source is used from one thread, its own, so it needs no locks. Its `read` may block, and may raise:
`SourceRunner` is the one edge where exceptions end and become a status.

One that has news only now and then may have an attribute ``rest_seconds``: so long after a read it is
not asked again, for waking its thread costs more than the question.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

import msgspec

from ..model.sample import SourceState

Part = msgspec.Struct
"""What a source yields: records that the `Sample` has a field for, which its line in the registry names."""


class Source(Protocol):
    """One origin of readings."""

    @property
    def name(self) -> str:
        """As shown by ``gputop doctor``: ``nvml``, ``nvml gpu 3``, ``processes``, ``host``…"""
        ...

    def read(self) -> tuple[Part, ...]:
        """Everything it knows now. A single value that cannot be had is ``None`` with its reason.

        Raises:
            SourceError: when the source as a whole has nothing to say; the reason is shown as it is.
        """
        ...

    def close(self) -> None:
        """Give back what it holds. Never waits."""
        ...


class SourceError(Exception):
    """A source has nothing to say. ``reason`` is one clause for people, with what would help."""

    status: SourceState = "failed"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def failure_words(error: BaseException) -> str:
    """Which error, and what it says."""
    said = ""
    with suppress(BaseException):  # what a library raises may not even be printable
        said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


class SourceAbsent(SourceError):
    """What it reads does not exist on this machine."""

    status: SourceState = "absent"


class SourceUnsupported(SourceError):
    """It exists, but cannot give what is needed."""

    status: SourceState = "unsupported"


class SourceDenied(SourceError):
    """This user may not read it."""

    status: SourceState = "denied"
