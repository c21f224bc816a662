"""A main thread that asks for a lock many times a second, as Python does for its interpreter, stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gputop.probes.model.rank_readings import ThreadReading, ThreadsReading

from support.probe_scenes import STARTED, fold, process, rank_of, sample

LOCK = "futex_do_wait"


def asks_since(moves: Callable[[int], dict[str, Any]], seconds: int = 10) -> float | None:
    """As of the last of some looks, a second apart."""
    samples = []
    for second in range(seconds + 1):
        moment = 100.0 + second
        given: dict[str, Any] = {"state": "S", "cpu_seconds": 3.0, "wait_channel": LOCK}
        main = ThreadReading(tid=100, name="python", **(given | moves(second)))
        threads = ThreadsReading(
            monotonic_seconds=moment, pid=100, start_time_seconds=STARTED, main=main
        )
        samples.append(sample(moment, [], [process(moment)], threads=(threads,)))
    activity = rank_of(fold(*samples), 0).activity
    assert activity is not None
    return activity.asks_since_seconds


def asking(second: int) -> dict[str, Any]:
    return {"voluntary_switches": 195 * second, "cpu_seconds": 3.0 + 0.01 * second}


def met_awake_once(second: int) -> dict[str, Any]:
    awake = {"state": "R", "wait_channel": None} if second == 5 else {}
    return asking(second) | awake


def woke_while_it_was_read(second: int) -> dict[str, Any]:
    return asking(second) | ({"wait_channel": None} if second == 5 else {})


@pytest.mark.parametrize(
    ("moves", "since"),
    [
        (asking, 100.0),
        (met_awake_once, 100.0),
        (woke_while_it_was_read, 100.0),
        (lambda second: {"voluntary_switches": 3 * second}, None),
        (lambda second: asking(second) | {"cpu_seconds": 3.0 + 0.3 * second}, None),
        (lambda second: asking(second) | {"wait_channel": "hrtimer_nanosleep"}, None),
    ],
    ids=[
        "asks",
        "met awake once",
        "woke meanwhile",
        "wakes up now and then",
        "works",
        "sleeps for short times",
    ],
)
def test_since_when_it_asks(moves: Callable[[int], dict[str, Any]], since: float | None) -> None:
    assert asks_since(moves) == since


def polls_since(cores: Callable[[int], float]) -> float | None:
    """Of one that sleeps a twentieth of a second, and looks."""
    samples, used = [], 3.0
    for second in range(11):
        moment = 100.0 + second
        used += cores(second)
        main = ThreadReading(
            tid=100,
            name="python",
            state="S",
            cpu_seconds=used,
            wait_channel="hrtimer_nanosleep",
            voluntary_switches=20 * second,
        )
        threads = ThreadsReading(
            monotonic_seconds=moment, pid=100, start_time_seconds=STARTED, main=main
        )
        samples.append(sample(moment, [], [process(moment)], threads=(threads,)))
    activity = rank_of(fold(*samples), 0).activity
    assert activity is not None
    return activity.polls_since_seconds


@pytest.mark.parametrize(
    ("cores", "since"),
    [
        (lambda _: 0.01, 100.0),
        (lambda second: 0.03 if second == 6 else 0.01, 100.0),
        (lambda _: 0.04, None),
        (lambda second: 0.2 if second == 9 else 0.01, 109.0),
    ],
    ids=["looks", "a few ticks fall into one second", "works", "works once"],
)
def test_since_when_it_polls(cores: Callable[[int], float], since: float | None) -> None:
    assert polls_since(cores) == since
