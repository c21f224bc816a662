"""Whether a process can be watched, before anything starts, in words."""

from __future__ import annotations

import os
from pathlib import Path

from ..sources.procfs.files import read_file
from ..sources.procfs.text import parse_stat, parse_status
from ..sources.procfs.users import system_name

_MOST_OFFERED = 3


def refusal(pid: int, root: Path = Path("/")) -> str:
    """Why there is no job to watch in this process; empty where there may be one."""
    try:
        stat = parse_stat((root / "proc" / str(pid) / "stat").read_bytes())
    except OSError:
        stat = None
    if stat is None:
        return _not_there(pid, root)
    if stat.kernel_thread:
        return f"process {pid} ({stat.name}) is a thread of the kernel: there is no job in it"
    if stat.state in "ZX" and (stat.threads or 0) <= 1:
        return f"process {pid} ({stat.name}) has exited, and its parent has not taken notice yet"
    return ""


def _not_there(pid: int, root: Path) -> str:
    if root == Path("/") and _lives(pid):
        return (
            f"process {pid} is hidden from you (/proc is mounted with hidepid): "
            "run gputop as its user or as root"
        )
    inside = _numbered_so_inside(pid, root)
    if inside:
        listed = " or ".join(f"gputop {each}" for each in inside[:_MOST_OFFERED])
        return f"there is no process {pid} here; in a container one has that number: {listed}"
    return f"there is no process {pid}"


def _lives(pid: int) -> bool:
    try:
        os.close(os.pidfd_open(pid))
    except (OSError, OverflowError):
        return False
    return True


def _numbered_so_inside(pid: int, root: Path) -> list[int]:
    """Processes that have this number in a PID namespace of their own."""
    found: list[int] = []
    for name in os.listdir(root / "proc"):  # noqa: PTH208 - there may be thousands
        if name.isdecimal():
            try:
                pids = parse_status(read_file(f"{root}/proc/{name}/status")).namespace_pids
            except OSError:
                continue
            if pid in pids[1:]:
                found.append(int(name))
    return found


def caution(pid: int, root: Path = Path("/"), viewer: int | None = None) -> str:
    """What will be missing of a process of somebody else; empty where nothing will.

    Args:
        pid: an existing process.
        root: of the file system.
        viewer: the id of the user who looks; ourselves where ``None``.
    """
    viewer = os.geteuid() if viewer is None else viewer
    try:
        owner = parse_status((root / "proc" / str(pid) / "status").read_bytes()).user_id
    except OSError:
        return ""
    if owner is None or viewer in (0, owner):
        return ""
    return (
        f"process {pid} belongs to {system_name(owner) or f'user {owner}'}: its environment, and with it its rank, "
        "is hidden from you"
    )
