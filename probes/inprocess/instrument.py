"""One way in which the probe learns something from the job: a patch, a hook or a callback."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .interface import ProbeLike
    from .timing import Timing

ON = "on"


class Off(Exception):
    """There is nothing here that it could learn from. The text says why."""


class Instrument:
    """The base of all instruments.

    Whatever goes wrong in one is its own end and nobody else's: its hooks catch every `Exception`,
    call `fail`, and let the job go on as if they were not there.

    Attributes:
        name: as shown, and named in the ``GPUTOP_PROBE_OFF`` list.
        counts_steps: whether the steps of the job are reported by it, from 1 for the first of these to go.
        calls: how often it was called.
        timing: measures its next calls, where there is one.
        state: `ON`, or why it is not.
    """

    name = ""
    counts_steps = 0

    def __init__(self, probe: ProbeLike) -> None:
        self.probe = probe
        self.calls = 0
        self.timing: Timing | None = None
        self.state = "not there"
        self._has_stopped = False

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
        if self.counts_steps and self._has_stopped:
            self.probe.tell_counting(self)

    def fail(self, error: Exception) -> None:
        """It has gone wrong while the job ran."""
        self.stop(_words(error))

    def stop(self, reason: str) -> None:
        """Take it out for that reason."""
        if self.state != ON:
            return
        self.state = reason
        self.timing = None
        self._has_stopped = True
        try:
            self.remove()
        except Exception as error:
            self.state = f"{reason}; and cannot be taken out: {_words(error)}"
        self.probe.tell_hooks()
        if self.counts_steps:
            self.probe.tell_counting(self)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
