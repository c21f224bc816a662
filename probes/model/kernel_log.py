"""What the kernel's log tells that concerns GPUs and jobs: the few lines of it that are worth keeping."""

from typing import Literal

import msgspec

from .reading import Missing

KERNEL_LOG = "kernel log"
"""Name of the source."""

KernelLogKind = Literal[
    "xid",
    "sxid",
    "gpu fault",
    "pcie error",
    "adapter fault",
    "port module",
    "port down",
    "oom kill",
    "hung task",
    "cpu lockup",
    "server not responding",
    "server responds",
    "file system error",
    "disk error",
    "cpu heat",
]
"""``gpu fault``: of the NVIDIA driver without an Xid. ``port module``: cable, transceiver or heat."""

KernelLogLevel = Literal["", "corrected", "nonfatal", "fatal"]


class KernelLogReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of the kernel's log; the same within a minute are one. Kept ones are in each sample."""

    kind: KernelLogKind
    time_seconds: float | None = None
    """Unix time of the newest of them; ``None``: the log has no times."""
    first_time_seconds: float | None = None
    count: int = 1
    before_start: bool = False
    """It was in the log when that was first read."""
    earlier_seconds: float = 0.0
    """It may be so much older: the node has slept, and the log does not say when."""
    level: KernelLogLevel = ""
    """How bad, where the kernel says so: PCIe errors, and those of NVSwitches."""
    pci_bus_id: str | None = None
    """As in the log: ``0000:3b:00.0``, or without the function, as the NVIDIA driver has it."""
    subject: str | None = None
    """Interface, disk, file system or server that it is about."""
    code: int | None = None
    """Xid or SXid."""
    pid: int | None = None
    """Of this monitor's own pid namespace; ``None`` with a reason where the log's is another one."""
    command_name: str | None = None
    """As the kernel has it: 15 bytes at most."""
    cgroup: str | None = None
    """Of the process that was killed."""
    limited_cgroup: str | None = None
    """Whose memory limit it was killed for; ``None``: the whole host's, or not told."""
    anonymous_bytes: int | None = None
    """Memory of its own that it had."""
    text: str = ""
    """The line, with values that look like credentials masked."""
    missing: Missing = {}


class KernelLogFrame(KernelLogReading, frozen=True, kw_only=True, omit_defaults=False):
    """An event with whom it concerns."""

    gpus: tuple[int, ...] = ()
    """Indices of those at this PCI address, or below this bridge."""
    rdma_devices: tuple[str, ...] = ()
    """The same of RDMA devices."""
    below_bridge: bool = False
    """They hang below the device that is named."""
    rank: int | None = None
    job_id: str | None = None
    """Of its process."""
