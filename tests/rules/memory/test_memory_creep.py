"""Memory that only grows, with the time that is left; not a saw-tooth, nor a plateau."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.rules_scenes import evidence, play
from support.step_scenes import GIB, allocates


def test_a_leak_of_a_gib_a_minute() -> None:
    script = allocates(lambda rank, second: 30 + second / 60 * (rank == 4) + second % 3)
    found = play(script, 340).one("MEM304")
    assert (found.subject.rank, found.severity) == (4, "warning")
    assert evidence(found, "memory_growth_bytes").value == pytest.approx(4 * GIB, rel=0.1)
    # 80 GiB less what is in use now, at a GiB a minute.
    left = (80 - (30 + 340 / 60 + 340 % 3)) * 60
    assert evidence(found, "time_left_seconds").value == pytest.approx(left, rel=0.1)


def test_shortly_before_the_end_it_is_an_error() -> None:
    script = allocates(lambda _rank, second: 60 + second / 30)
    assert {each.severity for each in play(script, 340).all("MEM304")} == {"error"}


@pytest.mark.parametrize(
    "allocated",
    [
        lambda _rank, second: 30 + second / 600,
        lambda _rank, second: 30 + (second % 60) / 10,
        lambda _rank, second: 30 + min(second, 60) / 10,
        lambda _rank, second: 50 - second / 60,
    ],
    ids=["hardly", "saw-tooth", "plateau", "falls"],
)
def test_near_misses(allocated: Callable[[int, float], float]) -> None:
    assert "MEM304" not in play(allocates(allocated), 400).ever()


def test_too_short_to_say() -> None:
    assert "MEM304" not in play(allocates(lambda _rank, second: 30 + second / 30), 200).ever()
