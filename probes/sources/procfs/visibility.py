"""Whether all processes of the machine can be seen from here: only then is one that is not seen not there."""

from __future__ import annotations

import os

_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's own number for that of the whole machine."""


def in_first_pid_namespace(proc: str) -> bool:
    """In a container the processes of others are not shown at all."""
    try:
        return os.readlink(f"{proc}/self/ns/pid") == _FIRST_PID_NAMESPACE  # noqa: PTH115
    except OSError:
        return False


def sees_all_processes(proc: str) -> bool:
    """Nor are they where ``/proc`` is mounted with ``hidepid``: then not even the first one is shown."""
    return in_first_pid_namespace(proc) and os.path.exists(f"{proc}/1/comm")  # noqa: PTH110
