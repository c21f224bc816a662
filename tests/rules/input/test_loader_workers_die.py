"""Workers that die and are replaced, beside all the ways in which workers come and go in good health."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gputop.probes.model.probe_readings import LoaderReading

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.scene_readings import BEGAN, GPUS, probe, process, rank_pid

Worker = tuple[int, float]
"""Number, and second at which it was started."""
Lives = Callable[[float], list[Worker]]


def with_workers(lives: Lives, *, zombies: Callable[[float], list[Any]] = lambda _: []) -> Script:
    """Rank 3 has these workers at each second, and these zombies: number, start, fields."""

    def worker(second: float, number: int, began: float, **fields: Any) -> Any:
        return process(
            5000 + number,
            BEGAN + second,
            parent_pid=rank_pid(3),
            name="pt_data_worker",
            start_time_seconds=6000.0 + began,
            **fields,
        )

    def script(second: float) -> Changes:
        living = [worker(second, number, began) for number, began in lives(second)]
        ended = [
            worker(second, number, began, state="Z", **fields)
            for number, began, fields in zombies(second)
        ]
        return Changes(more_processes=[*living, *ended])

    return script


def one_by_one(second: float, every: float = 12.0, size: int = 4) -> list[Worker]:
    """Each time one of them leaves, and two seconds later another one has its place."""
    deaths = int(second // every)
    workers = [(number, 0.1 * number) for number in range(size)]
    for death in range(1, deaths + 1):
        workers[death % size] = (100 + death, death * every + 2.0)
    just_now = second - deaths * every < 2.0
    return [
        each for at, each in enumerate(workers) if not (just_now and deaths and at == deaths % size)
    ]


def test_workers_that_are_replaced_one_by_one() -> None:
    played = play(with_workers(one_by_one), 90)
    found = played.one("INP708")
    assert (found.subject.kind, found.severity) == ("job", "warning")
    assert evidence(found, "worker_deaths").value == 6.0
    assert evidence(found, "ranks_of_workers").value == "r3"
    assert played.active_from("INP708") < 45  # type: ignore[operator]
    first = next(j for j in played.judgements if any(f.id == "INP708" for f in j.active))
    assert next(f for f in first.active if f.id == "INP708").severity == "info"


def in_generations(second: float, every: float = 15.0) -> list[Worker]:
    """All leave together at the end of an epoch, and as many come."""
    epoch, within = divmod(second, every)
    if within < 1.0:
        return []
    return [(int(epoch) * 10 + number, epoch * every + 1.0 + 0.1 * number) for number in range(4)]


def overlapping(second: float) -> list[Worker]:
    """The old ones are let go only after the new ones are there, and not all in the same second."""
    epoch, within = divmod(second, 15.0)
    old = [(int(epoch - 1) * 10 + number, (epoch - 1) * 15.0) for number in range(4)]
    new = [(int(epoch) * 10 + number, epoch * 15.0) for number in range(4)]
    return [*(old[2:] if within < 2 else []), *new] if within < 3 else new


def validating(second: float) -> list[Worker]:
    """Beside the workers of the training there are others, now and then."""
    epoch, within = divmod(second, 15.0)
    some = [(100 + int(epoch) * 10 + number, epoch * 15.0 + 5.0) for number in range(4)]
    return [*((number, 0.0) for number in range(4)), *(some if 5 <= within < 8 else [])]


@pytest.mark.parametrize(
    "lives",
    [
        in_generations,
        overlapping,
        validating,
        lambda second: [(number, 0.0) for number in range(4 if second < 20 else 3)],
        lambda second: [(number, float(number * 8)) for number in range(1 + int(second // 8))],
        lambda second: [(int(second // 10), second // 10 * 10)],
        lambda second: one_by_one(min(second, 15.0)),
    ],
    ids=["epochs", "overlap", "validation", "fewer", "more", "a single one", "once"],
)
def test_near_misses(lives: Lives) -> None:
    assert "INP708" not in play(with_workers(lives), 90).ever()


def killed(fields: dict[str, Any]) -> Script:
    """Each generation ends with a zombie."""

    def zombies(second: float) -> list[Any]:
        epoch, within = divmod(second, 15.0)
        before = int(epoch) - 1
        return [(before * 10, before * 15.0 + 1.0, fields)] if within < 1 and epoch >= 1 else []

    return with_workers(in_generations, zombies=zombies)


@pytest.mark.parametrize(
    ("fields", "words", "step"),
    [
        ({"exit_signal": 9}, "SIGKILL", "memory"),
        ({"exit_signal": 7}, "SIGBUS", "/dev/shm"),
        ({"exit_code": 1}, "exit code 1", "output"),
    ],
)
def test_how_they_ended_is_told(fields: dict[str, Any], words: str, step: str) -> None:
    found = play(killed(fields), 90).one("INP708")
    assert evidence(found, "ended_by").value == words
    assert evidence(found, "worker_deaths").value == 6.0
    assert step in found.next_step


def test_workers_that_end_themselves_did_as_told() -> None:
    assert "INP708" not in play(killed({"exit_code": 0}), 90).ever()


def failing(failures: Callable[[float], int | None]) -> Script:
    """As the probes of all ranks count."""

    def script(second: float) -> Changes:
        loader = LoaderReading(num_workers=4, failures=failures(second))
        pages = [
            msgspec.structs.replace(probe(rank, second, "forward", 0.1), rank=rank, loader=loader)
            for rank in range(GPUS)
        ]
        return Changes(probes=pages)

    return script


def test_draws_that_found_a_worker_dead_are_counted() -> None:
    found = play(failing(lambda second: 40 + (second >= 20)), 40).one("INP708")
    assert evidence(found, "worker_deaths").value == GPUS


@pytest.mark.parametrize(
    "failures",
    [lambda _: 40, lambda _: None, lambda second: 40 if second < 20 else 0],
    ids=["long ago", "an older probe", "a probe made anew"],
)
def test_failures_that_are_not_of_now(failures: Callable[[float], int | None]) -> None:
    assert "INP708" not in play(failing(failures), 40).ever()


def test_it_is_over_after_ten_minutes() -> None:
    script = failing(lambda second: 40 + (20 <= second < 1000))
    played = play(script, 700, interval=10.0)
    assert played.active_from("INP708") == 20.0
    assert "INP708" not in played.ids()
