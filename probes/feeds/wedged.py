"""Collectors that were killed and hang on in the kernel, inside a driver call."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from ..scheduling.patience import Patience
from ..wire.limits import COLLECTOR_NAME

DYING_SECONDS = 0.3
"""Whoever merely takes a moment to die is gone by then, if it gets a core."""
LONGEST_DYING_SECONDS = 2.0
_TURN_SECONDS = 0.1


def wedged_collectors(root: Path = Path("/")) -> list[int]:
    """Pids of collectors of this user that were killed but hang on in the kernel."""
    proc = root / "proc"
    with os.scandir(proc) as entries:
        pids = [entry.name for entry in entries if entry.name.isdecimal()]
    named = [proc / pid for pid in pids if _is_named(proc, pid)]
    found = [process for process in named if _is_wedged(process)]
    return [int(process.name) for process in found if _stays(process, root)]


def _stays(process: Path, root: Path) -> bool:
    """Whether it is still there after it had the time to die, which takes a core."""
    patience = Patience(int(process.name), root=root)
    latest = time.monotonic() + LONGEST_DYING_SECONDS
    while patience.waited_seconds < DYING_SECONDS:
        if not _is_wedged(process) or time.monotonic() > latest:
            return False
        patience.sleep(_TURN_SECONDS)
    return _is_wedged(process)


def _is_named(proc: Path, pid: str) -> bool:
    # Asked of every process of the node, of which there may be thousands.
    try:
        descriptor = os.open(f"{proc}/{pid}/comm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.read(descriptor, 32).rstrip() == COLLECTOR_NAME.encode()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_wedged(process: Path) -> bool:
    # Loaded where there is another collector at all.
    from ..sources.procfs.text import parse_pending_signals, parse_stat

    try:
        if process.stat().st_uid != os.geteuid():
            return False
        stat = parse_stat((process / "stat").read_bytes())
        pending = parse_pending_signals((process / "status").read_bytes())
    except OSError:
        return False
    if stat is not None and stat.state == "Z":
        # Dead, unless its main thread ended while another one hangs.
        return (stat.threads or 0) > 1
    return signal.SIGKILL in pending
