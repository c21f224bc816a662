"""``gputop attach PID --inject``."""

from __future__ import annotations

from ...probes.attach.injection import InjectionError
from ...probes.attach.injection import inject as load_into
from ..console.exits import COULD_NOT_LOOK, OK, complain


def inject(pid: int) -> int:
    """Load the probe into a running process; returns the exit code."""
    try:
        load_into(pid)
    except InjectionError as error:
        return complain(str(error), COULD_NOT_LOOK)
    return complain(f"the probe runs in process {pid}", OK)
