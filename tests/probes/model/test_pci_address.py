"""One PCI device, however NVML, the kernel, its log and the NVIDIA driver write its address."""

from __future__ import annotations

import pytest

from gputop.probes.model.pci_address import card_address, normal_bus_id


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("00000000:18:00.0", "0000:18:00.0"),
        ("00000001:AB:00.0", "0001:ab:00.0"),
        ("00012345:00:00.0", "12345:00:00.0"),
        ("0002:c1:00.1", "0002:c1:00.1"),
        ("0000:3B:00", "0000:3b:00.0"),
        ("rubbish", "rubbish"),
        (None, None),
    ],
)
def test_bus_ids(given: str | None, expected: str | None) -> None:
    assert normal_bus_id(given) == expected


@pytest.mark.parametrize("given", ["00000000:3B:00.0", "0000:3b:00.1", "0000:3b:00"])
def test_a_card_whatever_its_function(given: str) -> None:
    assert card_address(given) == "0000:3b:00"


@pytest.mark.parametrize("given", ["0001:3b:00.0", "0000:3c:00.0", "0000:3b:01.0", "", None])
def test_other_cards_and_none(given: str | None) -> None:
    assert card_address(given) != "0000:3b:00"
