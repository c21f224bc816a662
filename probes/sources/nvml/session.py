"""One life of the driver, between nvmlInit and nvmlShutdown, and who is inside it.

NVML's state belongs to the process: shutting down while another thread is inside a call is not safe,
and that thread may stay there for ever. So every source goes through the `Gate`, which notes who is
inside without any lock that a blocked call could hold.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ..protocol import SourceError
from .call import DriverGone


class Session:
    """From one nvmlInit to its nvmlShutdown. Handles are good for one session only."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.gone: DriverGone | None = None
        """Some call said that the driver is gone."""
        self.silent: dict[int, str] = {}
        """GPU index → what the driver said to every call about it."""
        self.answered = False
        """Some GPU did get one."""


class Gate:
    """The way into NVML for all its sources. Plain stores only; any thread may use it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.session: Session | None = None
        self.reason = "the NVIDIA driver is not initialized yet"
        """Why there is no session."""
        self.inside: dict[str, float] = {}
        """Source name → monotonic time at which it went in."""

    @contextmanager
    def enter(self, name: str) -> Generator[Session]:
        """Be inside NVML.

        Raises:
            SourceError: there is no session, or the driver went away meanwhile.
        """
        # Noted before the session is looked at: whoever takes the session away looks afterwards.
        self.inside[name] = self._clock()
        session = self.session
        try:
            if session is None:
                raise SourceError(self.reason)
            yield session
        except DriverGone as error:
            if session is not None:
                session.gone = error
            raise SourceError(str(error)) from error
        finally:
            del self.inside[name]

    def shut(self, reason: str) -> Session | None:
        """Let nobody in any more; the session so far, for whoever shuts it down."""
        self.reason = reason
        session, self.session = self.session, None
        return session
