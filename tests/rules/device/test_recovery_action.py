"""HW217: the driver asks for something to be done about a GPU."""

from __future__ import annotations

import pytest

from gputop.probes.sources.nvml.names import RECOVERY_ACTIONS

from support.rules_scenes import always, evidence, play


@pytest.mark.parametrize("action", [each for each in RECOVERY_ACTIONS.values() if each != "none"])
def test_every_action_has_its_step(action: str) -> None:
    found = play(always(gpus={4: {"recovery_action": action}}), 1).one("HW217")
    assert found.subject.gpu == 4
    assert evidence(found, "recovery_action").value == action
    assert evidence(found, "since").value == "before this watch"
    assert "does not know" not in found.next_step


def test_an_action_of_a_later_driver_is_told_as_unknown() -> None:
    found = play(always(gpus={4: {"recovery_action": "unknown (9)"}}), 1).one("HW217")
    assert found.severity == "warning" and "does not know" in found.next_step


def test_one_that_comes_while_it_is_watched_is_not_of_before() -> None:
    def later(second: float) -> object:
        action = "gpu reset" if second >= 3 else "none"
        return always(gpus={4: {"recovery_action": action}})(second)

    found = play(later, 6).one("HW217")  # type: ignore[arg-type]
    assert "since" not in {each.signal for each in found.evidence}


@pytest.mark.parametrize("action", ["none", None])
def test_none_is_asked_for(action: str | None) -> None:
    assert play(always(gpus={4: {"recovery_action": action}}), 3).ever() == set()
