"""AER and adapters' errors in the kernel log: recent ones, on the device that they name."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.kernel_readings import KernelEventReading

from support.rules_scenes import UNIX, Script, always, evidence, play


def lines(count: int = 1, **more: Any) -> Script:
    given: dict[str, Any] = {
        "kind": "AER",
        "text": "pcieport 0000:01:00.0: AER: Corrected error received: 0000:13:00.0",
        "pci_bus_id": "0000:13:00.0",
        "time_seconds": UNIX - 60,
        **more,
    }
    return always(kernel_events=[KernelEventReading(**given) for _ in range(count)])


FATAL: dict[str, Any] = {
    "text": "AER: Uncorrected (Fatal) error received: 0000:13:00.0",
    "grave": True,
}
NON_FATAL: dict[str, Any] = {
    "text": "AER: Uncorrectable error received: 0000:13:00.0",
    "grave": True,
}


@pytest.mark.parametrize(
    ("count", "more", "severity"),
    [(2, {}, "info"), (10, {}, "warning"), (1, NON_FATAL, "warning"), (1, FATAL, "error")],
)
def test_how_grave_they_are(count: int, more: dict[str, Any], severity: str) -> None:
    found = play(lines(count, **more), 2).one("LNK515")
    assert (found.severity, found.subject.gpu) == (severity, 3)
    assert evidence(found, "kernel_log_lines").value == count


def test_of_a_device_that_is_no_gpu() -> None:
    found = play(lines(pci_bus_id="0000:99:00.0", **FATAL), 2).one("LNK515")
    assert (found.subject.kind, found.subject.id) == ("link", "0000:99:00.0")


def test_near_misses() -> None:
    assert "LNK515" not in play(lines(time_seconds=UNIX - 700), 2).ever()
    assert "LNK515" not in play(lines(kind="storage"), 2).ever()
