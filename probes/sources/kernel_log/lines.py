"""Lines of the kernel log: which of them matter here, and what they say."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...model.gpu_readings import XidReading
from ...model.kernel_readings import KernelEventKind, KernelEventReading
from ..procfs.redaction import mask_text

MOST_CHARS = 240
WORTH_A_LOOK = re.compile(
    rb"NVRM: Xid|SXid|AER: |Out of memory: Killed|Memory cgroup out of memory: Killed|mlx5_core"
    rb"|not responding|I/O error|blocked for more than|soft lockup|nvidia-nvswitch"
)
"""Found in nearly no line: what has none of these is not looked at any further."""
_XID = re.compile(
    r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)(?:, pid='?(\d+|<unknown>)'?)?(?:, name=([^,]*))?,? ?(.*)"
)
_AER = re.compile(
    r"(?:pcieport |nvidia |mlx5_core )?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])"
    r".*AER: (.*)|AER: (.*?)(?: error)?(?: message)? received(?: from)?:? ([0-9a-f]{4}:[0-9a-f:.]+)"
)
_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", re.IGNORECASE)
_KILLED = re.compile(r"(?:Out of memory|Memory cgroup out of memory): Killed process (\d+)")
_STUCK = re.compile(
    r"task (\S+):(\d+) blocked for more than (\d+) seconds|soft lockup .* \[([^:]+):(\d+)\]"
)
_GRAVE_AER = re.compile(r"[Uu]ncorrect|[Ff]atal")
_RDMA = re.compile(
    r"mlx5_core.*(?:[Hh]ealth|fatal|[Ll]ink down|cable|[Tt]emperature|syndrome|[Ee]rror|timeout)"
)
_DISK = re.compile(
    r"(?:blk_update_request|Buffer I/O error|nvme\S*: I/O|EXT4-fs error|XFS .*I/O error|I/O error, dev)"
)


class Found(NamedTuple):
    """What a line says: an Xid, or something else."""

    xid: XidReading | None = None
    event: KernelEventReading | None = None


def read_line(text: str, time_seconds: float) -> Found | None:
    """What a line says; ``None``: nothing that matters here.

    Args:
        text: without time and level.
        time_seconds: Unix time of it.
    """
    xid = _XID.search(text)
    if xid:
        return Found(xid=_xid(xid, time_seconds))
    killed = _KILLED.search(text)
    if killed:
        return Found(
            event=_event("out of memory", text, time_seconds, grave=True, pid=int(killed[1]))
        )
    if "AER: " in text:
        return Found(event=_aer(text, time_seconds))
    if "not responding" in text and ("nfs" in text or "server" in text):
        return Found(event=_event("network file system", text, time_seconds))
    stuck = _STUCK.search(text)
    if stuck:
        pid = int(stuck[2] or stuck[5])
        return Found(event=_event("stuck task", text, time_seconds, pid=pid))
    if _RDMA.search(text):
        grave = "fatal" in text.lower() or "health" in text.lower()
        return Found(
            event=_event("RDMA", text, time_seconds, grave=grave, pci_bus_id=_bus_id(text))
        )
    if _DISK.search(text):
        return Found(event=_event("storage", text, time_seconds))
    return None


def _xid(found: re.Match[str], time_seconds: float) -> XidReading:
    pid = found[3] if found[3] and found[3].isdecimal() else None
    return XidReading(
        time_seconds=time_seconds,
        code=min(int(found[2]), 1 << 31),
        pci_bus_id=normal_bus_id(found[1]),
        pid=int(pid) if pid and len(pid) < 10 else None,
        origin="kernel log",
        text=_shown(found[5]),
    )


def _aer(text: str, time_seconds: float) -> KernelEventReading:
    grave = _GRAVE_AER.search(text) is not None
    return _event("AER", text, time_seconds, grave=grave, pci_bus_id=_bus_id(text))


def _bus_id(text: str) -> str | None:
    """The last that is named: a port reports for the device below it."""
    found = _PCI.findall(text)
    return normal_bus_id(found[-1]) if found else None


def _event(
    kind: KernelEventKind,
    text: str,
    time_seconds: float,
    *,
    grave: bool = False,
    pci_bus_id: str | None = None,
    pid: int | None = None,
) -> KernelEventReading:
    return KernelEventReading(
        time_seconds=time_seconds,
        kind=kind,
        text=_shown(text),
        grave=grave,
        pci_bus_id=pci_bus_id,
        pid=pid,
    )


def _shown(text: str) -> str:
    shown = mask_text(text.strip())
    return shown if len(shown) <= MOST_CHARS else shown[: MOST_CHARS - 1] + "…"


def normal_bus_id(text: str) -> str:
    """``0000:3b:00.0`` of whatever form NVML or the kernel gives it: short domain, capitals, no function."""
    parts = text.lower().split(":")
    domain = parts[-3][-4:].rjust(4, "0") if len(parts) >= 3 else "0000"
    device = parts[-1] if "." in parts[-1] else f"{parts[-1]}.0"
    return f"{domain}:{parts[-2] if len(parts) >= 2 else '00'}:{device}"
