"""What the kernel log says that concerns GPUs, their links and their jobs; units as in `sample`."""

from typing import Literal

import msgspec

KernelEventKind = Literal[
    "AER", "RDMA", "out of memory", "storage", "network file system", "stuck task"
]


class KernelEventReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of it. Recent ones are repeated in each sample; Xids are readings of their own."""

    time_seconds: float
    """Unix time."""
    kind: KernelEventKind
    text: str
    """The line, masked and cut."""
    grave: bool = False
    """Uncorrected, fatal or a kill: not only a note."""
    pci_bus_id: str | None = None
    pid: int | None = None
    """In the namespace of the host, as the kernel sees it."""
