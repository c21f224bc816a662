"""What a rank does, guessed from its threads and children alone, where no stack can be had.

All limits are ours, chosen on gloo jobs on a CPU (``tests/attach``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.process_frames import ProcessFrame
from ..model.rank_activity import ActivityFrame
from ..model.wait_kinds import WaitKind
from .stack_phase import Said

BUSY_CORES = 0.5
IDLE_CORES = 0.05
WRITES_BYTES_PER_SECOND = 4e6
_COMPILERS = ("cc1plus", "g++", "gcc", "nvcc", "cicc", "ptxas", "ld", "as", "clang")
_LOADER = "pt_data_worker"
_STOPPED, _IS_STOPPED = ("T", "t"), "is stopped"
_WAITS: dict[WaitKind | None, str] = {
    "poll": "waits for a socket or pipe",
    "socket": "waits for a socket or pipe",
    "unix socket": "waits for a socket or pipe",
    "accept": "waits for a socket or pipe",
    "terminal": "waits for its terminal",
    "file lock": "waits for a file lock",
    "pipe": "waits for a pipe or FIFO",
    "disk": "waits for a disk or file system",
    "child": "waits for another program",
}


def guess(
    activity: ActivityFrame, process: ProcessFrame | None, children: Sequence[ProcessFrame]
) -> Said:
    """The phase and what it does; ``other`` where threads tell no more."""
    if activity.state in _STOPPED:
        return Said("other", _IS_STOPPED)
    if any(_compiles(child) for child in children):
        return Said("compile", "runs a compiler")
    writes = process.write_bytes_per_second if process else None
    if (writes or 0.0) > WRITES_BYTES_PER_SECOND:
        return Said("checkpoint", "writes to disk")
    if (activity.autograd_cores or 0.0) >= BUSY_CORES:
        return Said("backward", "runs the backward")
    if (activity.cpu_cores or 0.0) >= BUSY_CORES:
        return Said("other", "runs on the CPU: forward, optimizer or Python")
    loads = any((child.name or "").startswith(_LOADER) for child in children)
    if loads and activity.wait == "poll":
        return Said("data", "waits for DataLoader workers")
    match activity.wait:
        case "lock":
            return Said("comm", "waits for other ranks or another thread")
        case "timer":
            return Said("other", "sleeps")
        case "pipe":
            return Said("data", "waits for a pipe or FIFO")
        case "poll" | "socket" | "unix socket" | "accept":
            return Said("other", "waits for a socket or pipe")
        case "terminal":
            return Said("idle", "waits for its terminal")
        case "file lock":
            return Said("other", "waits for a file lock")
        case "disk":
            return Said("data", "waits for a disk or file system")
        case "child":
            return Said("other", "waits for another program")
        case _:
            return Said("other", "sleeps" if activity.state in "SD" else "runs")


def asleep(activity: ActivityFrame) -> str | None:
    """What a main thread that uses no core waits for, in words, or that it is stopped; ``None`` where it runs.

    Its Python stack tells where, but not that: a function of C such as ``time.sleep`` has no frame.
    """
    if activity.state in _STOPPED:
        return _IS_STOPPED
    if activity.state != "S" or (activity.cpu_cores or 0.0) > IDLE_CORES:
        return None
    if activity.cpu_cores is None and activity.wait != "timer":
        return None  # one look may have met it between two pieces of work
    return _WAITS.get(activity.wait, "sleeps")


def _compiles(child: ProcessFrame) -> bool:
    name = child.name or ""
    worker = any("compile_worker" in word for word in child.command or ())
    return name in _COMPILERS or (worker and (child.cpu_cores or 0.0) >= BUSY_CORES)
