"""Faults of mlx5 cards in the kernel log."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.kernel_log import KernelLogKind

from support.rules_scenes import Script, always, play
from support.scene_readings import log_line, port

CARD = "0000:c0:00.0"


def told(kind: KernelLogKind, second: float = -5.0, card: str = CARD, **fields: Any) -> Script:
    line = log_line(second, kind, pci_bus_id=card, **fields)
    return always(kernel_log=[line], ports=[port(0, pci_bus_id=CARD)])


@pytest.mark.parametrize(
    ("kind", "severity"), [("adapter fault", "error"), ("port module", "warning")]
)
def test_of_a_card_of_this_node(kind: KernelLogKind, severity: str) -> None:
    found = play(told(kind), 1).one("LNK516")
    assert (found.severity, found.subject.id) == (severity, "mlx5_0")
    assert ("transceiver" in found.next_step) is (kind == "port module")


def test_what_is_information() -> None:
    assert play(told("adapter fault", -4000.0), 1).one("LNK516").severity == "info"
    other = play(told("adapter fault", card="0000:d0:00.0"), 1).one("LNK516")
    assert (other.severity, other.subject.job) == ("info", None)


def test_a_link_that_went_down_is_the_ports_own_matter() -> None:
    assert "LNK516" not in play(told("port down"), 1).ever()
