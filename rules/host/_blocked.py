"""The file at which a process stands still, and its mount, as evidence."""

from __future__ import annotations

from collections.abc import Iterator

from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence


def file_evidence(process: ProcessFrame | None) -> Iterator[Evidence]:
    """The file and where it lies; nothing where that is not known."""
    blocked = process.blocked_on if process is not None else None
    if blocked is None:
        return
    yield Evidence(signal="file", value=f"{blocked.call} {blocked.path}")
    mount = mount_words(process)
    if mount:
        yield Evidence(signal="mount", value=mount)


def mount_words(process: ProcessFrame | None) -> str:
    """``/data (nfs4, server:/export)``; empty where the file lies on none, or nothing is known."""
    blocked = process.blocked_on if process is not None else None
    if blocked is None or blocked.mount_point is None:
        return ""
    return f"{blocked.mount_point} ({blocked.file_system}, {blocked.device})"
