"""One way in which the probe learns something from the job: a patch, a hook or a callback."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .probe import Probe

ON = "on"


class Off(Exception):
    """There is nothing here that it could learn from. The text says why."""


class Instrument:
    """The base of all instruments.

    Whatever goes wrong in one is its own end and nobody else's: its hooks catch every `Exception`,
    call `fail`, and let the job go on as if they were not there.

    Attributes:
        name: as shown, and named in the ``GPUTOP_PROBE_OFF`` list.
        edges: phase changes that one call makes; what it costs is reckoned from this.
        calls: how often it was called.
        state: `ON`, or why it is not.
    """

    name = ""
    edges = 2

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.calls = 0
        self.state = "not there"

    def install(self) -> None:
        """Put it in. May raise; the reason is shown."""
        raise NotImplementedError

    def remove(self) -> None:
        """Take it out, or make it pass everything through. May be called at any time."""
        raise NotImplementedError

    def start(self) -> None:
        """Put it in, whatever happens."""
        try:
            self.install()
        except Off as reason:
            self.state = f"off: {reason}"
        except Exception as error:
            self.state = _words(error)
        else:
            self.state = ON
        self.probe.tell_hooks()

    def fail(self, error: Exception) -> None:
        """It has gone wrong while the job ran."""
        self.stop(_words(error))

    def stop(self, reason: str) -> None:
        """Take it out for that reason."""
        if self.state != ON:
            return
        self.state = reason
        try:
            self.remove()
        except Exception as error:
            self.state = f"{reason}; and cannot be taken out: {_words(error)}"
        self.probe.tell_hooks()


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
