"""What can be asked of a probe over its control socket."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import CommandError

if TYPE_CHECKING:
    from .interface import ProbeLike

Command = Callable[["ProbeLike", "dict[str, Any]"], "dict[str, object]"]


def answer(probe: ProbeLike, request: dict[str, Any]) -> dict[str, object]:
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


def _status(probe: ProbeLike, _request: dict[str, Any]) -> dict[str, object]:
    torch = sys.modules.get("torch")
    return {
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": getattr(torch, "__version__", None) and str(torch.__version__),  # type: ignore[union-attr]
        "page": probe.page.path,
        "steps": probe.steps.count,
        "instruments": {name: each.state for name, each in probe.instruments.items()},
    }
