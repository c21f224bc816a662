"""What the kernel says of disks, servers and blocked tasks: while it is recent."""

from __future__ import annotations

import pytest

from gputop.probes.model.kernel_readings import KernelEventKind, KernelEventReading

from support.rules_scenes import UNIX, Script, always, evidence, play

TEXT = "nfs: server filer not responding, still trying"


def said(kind: KernelEventKind, age: float = 30.0) -> Script:
    event = KernelEventReading(kind=kind, text=TEXT, time_seconds=UNIX - age)
    return always(kernel_events=[event])


@pytest.mark.parametrize("kind", ["network file system", "storage", "stuck task"])
def test_each_kind_is_told_with_its_line(kind: KernelEventKind) -> None:
    found = play(said(kind), 2).one("HST128")
    assert (found.severity, found.subject.kind) == ("warning", "host")
    assert evidence(found, "kernel_log").value == TEXT


def test_near_misses() -> None:
    assert "HST128" not in play(said("storage", 700), 2).ever()
    assert "HST128" not in play(said("AER"), 2).ever()
