"""HW218: damage that waits for a reset, or that no reset repairs."""

from __future__ import annotations

import pytest

from support.rules_scenes import always, evidence, play


@pytest.mark.parametrize("signal", ["unrepairable_memory", "sram_threshold_exceeded"])
def test_beyond_repair(signal: str) -> None:
    found = play(always(gpus={4: {signal: True}}), 1).one("HW218")
    assert (found.severity, found.name, found.subject.gpu) == ("error", "damage beyond repair", 4)
    assert evidence(found, signal).value == "yes" and "replaced" in found.next_step


@pytest.mark.parametrize("signal", ["channel_repair_pending", "tpc_repair_pending"])
def test_pending(signal: str) -> None:
    found = play(always(gpus={4: {signal: True}}), 1).one("HW218")
    assert (found.severity, found.name) == ("warning", "repair pending")
    assert found.next_step == "Reset this GPU as soon as the job has ended."


@pytest.mark.parametrize("value", [False, None])
def test_drivers_that_say_no_or_nothing(value: bool | None) -> None:
    signals = ("unrepairable_memory", "sram_threshold_exceeded", "tpc_repair_pending")
    played = play(always(gpus={4: dict.fromkeys(signals, value)}), 3)
    assert played.ever() == set()
    assert "HW218" not in {rule.id for rule in played.last.not_evaluated}
