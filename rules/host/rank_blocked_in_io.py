from __future__ import annotations

from ..distributed.blame import BlameRule
from ..distributed.standstill import Look


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
        stack names the line, and ls -l /proc/PID/fd the file.
    Mitigation:
        Bring back what should answer, or give the read a time limit.
    """

    id = "HST125"
    name = "rank blocked in input or output"
    cause = "read"
    next_step = "Find what it reads: ls -l /proc/PID/fd."

    def step_for(self, look: Look) -> str | None:
        where = f" at {look.rank.place}" if look.rank.place else ""
        return f"Find what it reads{where}: ls -l /proc/{look.rank.pid}/fd."
