"""Text to a new file in the working directory: nothing is ever written over."""

from __future__ import annotations

import os
import time
from pathlib import Path


def save_text(kind: str, text: str, folder: Path, time_seconds: float) -> Path:
    """Write it, for its owner's eyes alone, and say where.

    Args:
        kind: what it is, for the file's name: ``stacks``.
        text: what to write.
        folder: where to.
        time_seconds: Unix time for the file's name.

    Raises:
        OSError: when it cannot be written; what was begun is taken away again.
    """
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(time_seconds))
    path = folder / f"gputop-{kind}-{moment}.txt"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path
