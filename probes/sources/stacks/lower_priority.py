"""Priority of what we run beside a job: it takes a core that is free, and hardly one that is wanted."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICENESS = 10
"""A tenth of a usual process's weight: little enough not to push a thread of the job off its core, and
enough to end in time where no core is ever free."""


def lower_priority(pid: int) -> None:
    """Let a child of ours that has just been started give way to all else.

    Never for what holds another process still while it works: that one would be stopped for longer.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
    # Where the kernel shares out time by session, a process's own niceness counts within its session only.
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS))
