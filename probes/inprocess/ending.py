"""Being called when this process ends in good order."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable


def at_exit(function: Callable[[], object]) -> None:
    """Call it at the end, perhaps twice.

    A child of ``multiprocessing`` that was forked leaves without Python's own exit handlers, and runs
    those of ``multiprocessing`` instead; one that was spawned runs both.
    """
    atexit.register(function)
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, function, exitpriority=0)
