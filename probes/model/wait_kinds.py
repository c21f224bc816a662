"""What a sleeping thread waits for, reported by the kernel function it sleeps in."""

from __future__ import annotations

from typing import Literal

WaitKind = Literal[
    "lock",
    "file lock",
    "timer",
    "pipe",
    "poll",
    "socket",
    "unix socket",
    "accept",
    "terminal",
    "child",
    "stopped",
    "disk",
    "other",
]
"""``accept``: for somebody to connect. ``unix socket``: for a process of this node."""

_STARTS: dict[WaitKind, str] = {
    "lock": "futex do_semtimedop",
    "file lock": "locks_lock flock_lock posix_lock fcntl_setlk do_lock_file",
    "timer": "hrtimer_nanosleep do_nanosleep common_nsleep clock_nanosleep",
    "pipe": "pipe_ anon_pipe_ fifo_open wait_for_partner",
    "poll": "poll_schedule do_poll do_select do_sys_poll ep_poll do_epoll_wait",
    "accept": "inet_csk_accept unix_accept",
    "unix socket": "unix_ sock_alloc_send",
    "terminal": "n_tty_read tty_wait",
    "socket": "sk_wait sk_stream_wait inet_ tcp_ wait_woken skb_wait",
    "child": "do_wait kernel_wait",
    "stopped": "do_signal_stop ptrace_stop",
    "disk": "io_schedule folio_wait wait_on_page blk bio_ jbd2 xfs ext4 btrfs nfs rpc_ fuse "
    "request_wait_answer ceph lustre ldlm ptlrpc cl_ ll_ cifs gpfs 9p p9_ netfs",
}
"""Kind of wait → how the names of its functions begin."""

_BEGINNINGS: dict[WaitKind, tuple[str, ...]] = {
    wait: tuple(names.split()) for wait, names in _STARTS.items()
}


def wait_kind(wait_channel: str | None) -> WaitKind | None:
    """``None`` where nothing is known: it runs, or the kernel does not show it."""
    if not wait_channel:
        return None
    name = wait_channel.lstrip("_")
    for kind, beginnings in _BEGINNINGS.items():
        if name.startswith(beginnings):
            return kind
    return "other"
