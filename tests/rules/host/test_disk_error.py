"""Errors of disks and file systems: of one that a rank waits for, and others."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.kernel_log import KernelLogKind
from gputop.probes.model.rank_readings import BlockedFile

from support.rules_scenes import Script, always, play
from support.scene_readings import log_line, rank_pid


def failing(
    disk: str, device: str | None, second: float = -20.0, kind: KernelLogKind = "disk error"
) -> Script:
    changes: dict[int, dict[str, Any]] = {}
    if device is not None:
        file = BlockedFile(
            call="syncs", path="/ckpt/a", mount_point="/ckpt", file_system="ext4", device=device
        )
        changes = {rank_pid(3): {"state": "D", "wait_channel": "io_schedule", "blocked_on": file}}
    return always(processes=changes, kernel_log=[log_line(second, kind, subject=disk)])


@pytest.mark.parametrize(
    ("disk", "device"),
    [
        ("sda", "/dev/sda1"),
        ("sda1", "/dev/sda1"),
        ("nvme0n1", "/dev/nvme0n1p2"),
        ("nvme0", "/dev/nvme0n1p2"),
        ("dm-0", "/dev/dm-0"),
    ],
)
def test_a_rank_waits_for_that_disk(disk: str, device: str) -> None:
    found = play(failing(disk, device), 2).one("HST128")
    assert (found.severity, found.subject.id) == ("warning", f"node17 {disk}")


def test_a_file_system() -> None:
    found = play(failing("sda1", "/dev/sda1", kind="file system error"), 60).one("HST128")
    assert "HST107" in {each.id for each in found.explains}


@pytest.mark.parametrize(
    ("disk", "device", "second"),
    [
        ("sda", None, -20.0),
        ("sda", "/dev/sdb1", -20.0),
        ("sda1", "/dev/sda2", -20.0),
        ("nvme1", "/dev/nvme10n1", -20.0),
        ("sda", "/dev/sda1", -4000.0),
    ],
    ids=["nobody waits", "another disk", "another partition", "another drive", "long ago"],
)
def test_what_is_information(disk: str, device: str | None, second: float) -> None:
    assert play(failing(disk, device, second), 2).one("HST128").severity == "info"


def test_none() -> None:
    assert "HST128" not in play(failing("sda", "/dev/sda1", -90_000.0), 2).ever()
    assert "HST128" not in play(always(kernel_log=[log_line(-5, "cpu heat")]), 2).ever()
