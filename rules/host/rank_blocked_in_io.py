from __future__ import annotations

from ..distributed._charge import ChargeRule
from ..distributed._holders import step_of
from ..rule import Scene
from ..waits.charge import Charge
from ..waits.motion import writes_to_terminal
from ._blocked import mount_words


class RankBlockedInIo(ChargeRule):
    """Rank blocked in input or output.

    Meaning:
        A rank waits in one read of a pipe, a socket or a file, or in one write to what nobody empties (a
        pipe, a terminal that was stopped), while the others wait for it, also while it saves or evaluates:
        nothing comes or goes, and it has not woken up once. One for which nobody waits
        is reported after a minute, if it was seen to move before.
    Impact:
        The whole job stands still until that read returns, which may be never.
    Diagnosis:
        The wait channel names the kernel function: pipe_read or wait_for_partner a pipe or FIFO that
        nobody writes to, tcp or unix a peer that does not answer, nfs or rpc a dead file server. The
        stack names the line; the file and its mount, the far end of the socket and who has the other end
        of the pipe are reported where its system call may be read, and else by ls -l /proc/PID/fd. A
        child that was killed is named: it may be the one that should have written.
    Mitigation:
        Bring back what should answer, let the terminal go on (Ctrl-Q), or give the read a time limit.
    """

    id = "HST125"
    name = "rank blocked in input or output"
    short = "blocked in I/O"
    label = "read"
    next_step = "Find what it reads: ls -l /proc/PID/fd."

    def step_for(self, charge: Charge, scene: Scene) -> str | None:
        behind = step_of(charge, scene)
        if behind is not None:
            return behind
        rank = charge.rank
        where = f" at {rank.place}" if rank.place else ""
        process = scene.frame.process(rank.pid)
        blocked = process.blocked_on if process else None
        if blocked is None:
            return f"Find what it reads{where}: ls -l /proc/{rank.pid}/fd."
        if writes_to_terminal(rank, scene):
            return f"Let {blocked.path} go on, where it writes{where}: Ctrl-Q there, or leave the pane's copy mode."
        if blocked.call == "writes":
            return (
                f"Find out who should read what it writes to {blocked.path}{where}, and does not."
            )
        mount = mount_words(process)
        on = f" on {mount}" if mount else ""
        return f"Find out why nothing comes: it {blocked.call} {blocked.path}{on}{where}."
