from __future__ import annotations

from collections.abc import Iterable

from ..distributed._blame import BlameRule
from ..distributed._standstill import Look
from ..finding import Evidence
from ..rule import Scene
from ._blocked import file_evidence, mount_words


class RankBlockedInIo(BlameRule):
    """Rank blocked in input or output.

    Meaning:
        A rank waits in one read of a pipe, a socket or a file while the others wait for it: nothing
        comes, and it has not woken up once.
    Impact:
        The whole job stands still until that read returns, which may be never.
    Diagnosis:
        The wait channel names the kernel function: pipe_read or wait_for_partner a pipe or FIFO that
        nobody writes to, tcp or unix a peer that does not answer, nfs or rpc a dead file server. The
        stack names the line; the file and its mount are reported where its system call may be read, and
        else by ls -l /proc/PID/fd.
    Mitigation:
        Bring back what should answer, or give the read a time limit.
    """

    id = "HST125"
    name = "rank blocked in input or output"
    short = "blocked in I/O"
    cause = "read"
    next_step = "Find what it reads: ls -l /proc/PID/fd."

    def more_evidence(self, look: Look, scene: Scene) -> Iterable[Evidence]:
        return file_evidence(scene.frame.process(look.rank.pid))

    def step_for(self, look: Look, scene: Scene) -> str | None:
        where = f" at {look.rank.place}" if look.rank.place else ""
        process = scene.frame.process(look.rank.pid)
        blocked = process.blocked_on if process else None
        if blocked is None:
            return f"Find what it reads{where}: ls -l /proc/{look.rank.pid}/fd."
        mount = mount_words(process)
        on = f" on {mount}" if mount else ""
        return f"Find out why nothing comes: it {blocked.call} {blocked.path}{on}{where}."
