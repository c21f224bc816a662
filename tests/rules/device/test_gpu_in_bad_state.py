"""HW216: the driver returns an error about a GPU that is no refusal."""

from __future__ import annotations

from typing import Any

import pytest

from support.rules_scenes import always, evidence, play


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (999, "In a container, restart it"),
        (16, "nvidia-smi -i 4 -r"),
        (8, "power cables of GPU 4"),
        (11, "interrupts"),
        (14, "infoROM"),
        (23, "no resources left"),
        (4711, "drain the node and reset"),
    ],
)
def test_all_calls_fail(code: int, words: str) -> None:
    played = play(always(gpus={4: {"fault_code": code}}), 2)
    found = played.one("HW216")
    assert (found.subject.gpu, found.severity) == (4, "error")
    assert evidence(found, "driver_fault").value.endswith(f"(code {code})")  # type: ignore[union-attr]
    assert evidence(found, "failed_calls").value == "all"
    assert words in found.next_step
    assert played.last.frame.gpus[4].status == "failed"


@pytest.mark.parametrize(("code", "severity"), [(16, "error"), (999, "warning"), (10, "warning")])
def test_single_calls_fail(code: int, severity: str) -> None:
    calls = ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetPowerUsage")
    played = play(always(gpus={4: {"fault_code": code, "failed_calls": calls}}), 2)
    found = played.one("HW216")
    assert found.severity == severity
    assert evidence(found, "failed_calls").value == ", ".join(calls)
    assert played.last.frame.gpus[4].status == "ok"


@pytest.mark.parametrize("values", [{}, {"lost": True, "fault_code": 15}, {"power_watts": None}])
def test_what_is_none(values: dict[str, Any]) -> None:
    assert "HW216" not in play(always(gpus={4: values}), 3).ever()


def test_one_failed_reading_is_not_enough() -> None:
    def once(second: float) -> Any:
        return always(gpus={4: {"fault_code": 10 if second == 2 else 0}})(second)

    assert play(once, 6).ever() == set()


def test_what_the_driver_asks_for_is_shown_under_it() -> None:
    both = {
        "fault_code": 16,
        "failed_calls": ("nvmlDeviceGetPowerUsage",),
        "recovery_action": "gpu reset",
    }
    played = play(always(gpus={4: both}), 3)
    asked = played.one("HW217")
    assert asked.explained_by is not None and asked.explained_by.id == "HW216"
