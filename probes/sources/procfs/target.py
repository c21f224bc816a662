"""Doing something to exactly one process: named by pid and start time, held by a descriptor."""

from __future__ import annotations

import os
import signal as signals
from pathlib import Path

from .text import parse_stat, same_start


class TargetError(Exception):
    """It was not done. The text is one sentence for people."""


def start_time_of(pid: int, root: Path = Path("/")) -> float | None:
    """Seconds since boot at which a process began; ``None`` where there is none of that pid."""
    try:
        stat = parse_stat((root / "proc" / str(pid) / "stat").read_bytes())
    except OSError:
        return None
    return None if stat is None else stat.start_time_seconds


def send_signal(pid: int, start_time_seconds: float, signal: int) -> None:
    """Send ``signal`` to that very process.

    Raises:
        TargetError: when it is gone, its pid belongs to another by now, or it is not ours.
    """
    descriptor = _open(pid, start_time_seconds)
    try:
        signals.pidfd_send_signal(descriptor, signal)
    except (OSError, ValueError) as error:
        raise TargetError(f"process {pid} was not signalled: {_words(error)}") from error
    finally:
        os.close(descriptor)


def environment_of(pid: int, start_time_seconds: float) -> dict[str, str]:
    """The whole environment that the process was started with.

    Raises:
        TargetError: when it is gone, its pid belongs to another by now, or it is not ours.
    """
    os.close(_open(pid, start_time_seconds))
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError as error:
        raise TargetError(
            f"the environment of process {pid} is not readable: {_words(error)}"
        ) from error
    pairs = (entry.partition("=") for entry in raw.decode("utf-8", "replace").split("\0") if entry)
    return {name: value for name, _, value in pairs}


def _open(pid: int, start_time_seconds: float) -> int:
    """A descriptor that goes on meaning this process, checked to be the one that was meant."""
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, OverflowError) as error:
        raise TargetError(f"there is no process {pid} any more") from error
    began = start_time_of(pid)
    if began is None or not same_start(began, start_time_seconds):
        os.close(descriptor)
        raise TargetError(f"process {pid} has exited, and its pid may belong to another one")
    return descriptor


def _words(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
