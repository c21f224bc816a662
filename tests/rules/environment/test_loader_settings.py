"""Settings of the DataLoader that cost something here."""

from __future__ import annotations

from typing import Any

import pytest

from gputop.probes.model.probe_readings import LoaderReading

from support.rules_scenes import Script, play
from support.step_scenes import spends


def loads(copies: float, **loader: Any) -> Script:
    return spends(
        lambda _rank, _second: {"h2d": copies},
        lambda _rank, _second: {"loader": LoaderReading(num_workers=4, **loader)},
    )


def told(script: Script) -> list[str]:
    # These ranks tell of their variables too: none is slow.
    found = play(script, 40).all("ENV602")
    return [str(each.value) for finding in found for each in finding.evidence]


def test_each_is_named() -> None:
    (line,) = told(loads(0.05, pin_memory=False))
    assert line.startswith("pin_memory=False: ")
    (line,) = told(loads(0.0, prefetch_factor=1))
    assert line.startswith("prefetch_factor=1: ")


@pytest.mark.parametrize(
    "script",
    [
        loads(0.05, pin_memory=True),
        loads(0.005, pin_memory=False),
        loads(0.2, pin_memory=False),
        loads(0.05, prefetch_factor=2),
    ],
    ids=["pinned", "hardly any copies", "told as slow copies", "two ahead"],
)
def test_near_misses(script: Script) -> None:
    assert told(script) == []
