"""What a process in state D waits for, reported by the kernel function it sleeps in."""

from __future__ import annotations

from typing import Literal

Wait = Literal["network file system", "NVIDIA driver", "disk", "RDMA", "memory", "unknown"]

_STARTS: dict[Wait, str] = {
    "network file system": "nfs rpc_ fuse request_wait_answer ceph lustre ldlm ptlrpc cl_ ll_ "
    "cifs smb gpfs mmfs beegfs 9p p9_ netfs",
    "NVIDIA driver": "nv uvm os_acquire rm_",
    "RDMA": "ib_ mlx5 rdma uverbs",
    "memory": "swap do_swap shrink_ try_to_free mem_cgroup throttle_direct",
    "disk": "io_schedule folio_wait wait_on_page blk bio_ submit_bio jbd2 xfs ext4 btrfs md_ dio_ "
    "iomap rq_qos wbt_ balance_dirty",
}
"""Kind of wait → how the names of its functions begin."""

_BEGINNINGS: dict[Wait, tuple[str, ...]] = {
    wait: tuple(names.split()) for wait, names in _STARTS.items()
}


def wait_of(wait_channel: str | None) -> Wait:
    """The kind of wait; ``unknown`` where the function says nothing or is not readable."""
    name = (wait_channel or "").lstrip("_")
    for wait, beginnings in _BEGINNINGS.items():
        if name.startswith(beginnings):
            return wait
    return "unknown"
