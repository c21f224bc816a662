"""The name that was probably meant: one slip of the finger, or a name without its unit."""

from __future__ import annotations

import pytest

from gputop.rules.suggestion import suggestion

NAMES = ("temperature_celsius", "HW201", "slowed_ratio")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("temperatur", "temperature_celsius"),
        ("temperature", "temperature_celsius"),
        ("temperature_celcius", "temperature_celsius"),
        ("hw210", "HW201"),
        ("slowed", "slowed_ratio"),
    ],
)
def test_what_is_near(word: str, meant: str) -> None:
    assert suggestion(word, NAMES) == f"; did you mean {meant}?"


@pytest.mark.parametrize("word", ["", "tem", "ratio", "power_watts"])
def test_what_is_not(word: str) -> None:
    assert suggestion(word, NAMES) == ""
