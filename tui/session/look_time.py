"""How long a node was really looked at, by the clock of its samples."""

from __future__ import annotations

from ...probes.model.frame import Frame


class LookTime:
    """Seconds since the first frame, less those in which the collector was not run."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._lost = 0.0
        self.seconds = 0.0
        """In which it could look."""
        self.whole_seconds = 0.0

    @property
    def starved(self) -> bool:
        """Whether most of the time was lost."""
        return self._lost > 0.5 * self.whole_seconds

    def take(self, frame: Frame) -> None:
        """The next frame."""
        now = frame.monotonic_seconds
        if self._began is None:
            self._began = now
            return
        starvation = frame.starvation
        if starvation is not None:
            self._lost += starvation.seconds + starvation.stopped_seconds
        self.whole_seconds = now - self._began
        self.seconds = max(0.0, self.whole_seconds - self._lost)
