"""For programs that tests interrupt: whoever runs the tests in the background has SIGINT ignored, and they inherit that."""

from __future__ import annotations

import signal


def own_signals() -> None:
    """For ``preexec_fn``: Ctrl+C does what it does on a terminal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
