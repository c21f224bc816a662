"""Who started a process, and whether it has started others: single questions, answered by ``/proc`` itself."""

from __future__ import annotations

from pathlib import Path

from .files import read_file
from .text import parse_stat


def parent_pid(pid: int, root: Path = Path("/")) -> int | None:
    """The process's parent; ``None`` where there is no such process, or it has none."""
    try:
        stat = parse_stat(read_file(root / f"proc/{pid}/stat"))
    except OSError:
        return None
    return stat.parent_pid or None if stat else None


def is_leaf(pid: int, root: Path = Path("/")) -> bool:
    """Whether no process has it as its parent; also where it is gone."""
    tasks = root / f"proc/{pid}/task"
    try:
        return not any(read_file(task / "children").strip() for task in tasks.iterdir())
    except FileNotFoundError:
        return not tasks.exists()  # a kernel may lack that file
    except OSError:
        return True
