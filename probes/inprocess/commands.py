"""What can be asked of a probe over its control socket."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .probe import Probe


class CommandError(Exception):
    """It was not done. The text is one sentence for people."""


Command = Callable[["Probe", "dict[str, Any]"], "dict[str, object]"]


def answer(probe: Probe, request: dict[str, Any]) -> dict[str, object]:
    """Do what a request asks for.

    Raises:
        CommandError: it cannot be done, or there is no such command.
    """
    from . import dumps, profiling

    commands: dict[str, Command] = {
        "status": _status,
        "profile": profiling.profile,
        "profile-status": profiling.status,
        "profile-cancel": profiling.cancel,
        "flight-recorder": dumps.flight_recorder,
        "memory-snapshot": dumps.memory_snapshot,
        "stacks": dumps.stacks,
    }
    command = commands.get(str(request.get("command")))
    if command is None:
        raise CommandError(f"there is no such command; there are {', '.join(commands)}")
    return command(probe, request)


def _status(probe: Probe, _request: dict[str, Any]) -> dict[str, object]:
    torch = sys.modules.get("torch")
    return {
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": getattr(torch, "__version__", None) and str(torch.__version__),  # type: ignore[union-attr]
        "page": probe.page.path,
        "steps": probe.steps.count,
        "instruments": {name: each.state for name, each in probe.instruments.items()},
    }


def reserve(path: object) -> str:
    """Make that file, empty, so that nothing else can have the name, and what is there stays.

    Raises:
        CommandError: it exists, cannot be made, or is no absolute path.
    """
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        raise CommandError("an absolute path is needed for the file")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        raise CommandError(f"{path} exists already, and nothing is overwritten") from None
    except OSError as error:
        raise CommandError(f"the job cannot write {path}: {error.strerror}") from None
    return path


def give_up(path: str) -> None:
    """Remove a file made by `reserve` that nothing was written into."""
    try:
        os.unlink(path)
    except OSError:
        return
