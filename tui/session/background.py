"""Work beside the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...probes.scheduling.process_limit import SENTENCE


def in_background(work: Callable[[], object], name: str) -> str:
    """Start it on a thread of its own; returns why it cannot be, one sentence, or an empty string."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError:
        return SENTENCE
    return ""
