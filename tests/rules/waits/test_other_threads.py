"""What the threads of a rank that waits tell without a probe: a queue, the interpreter, a file looked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gputop.probes.model.rank_readings import (
    FileLoop,
    StackThreadReading,
)

from support.rules_scenes import (
    Changes,
    Script,
    evidence,
    play,
)
from support.stall_scenes import FROM, everybody, frames, reported
from support.wait_scenes import with_threads

LOCK = {"wait_channel": "futex_do_wait"}
OWN = frames("train.py:next_batch:88", "train.py:main:111")
MINUTE = FROM + 62

QUEUE = frames("threading.py:wait:327", "queue.py:get:171", "train.py:main:9")
MAIN = StackThreadReading(frames=QUEUE, name="MainThread", main=True)
OTHER = StackThreadReading(
    frames=frames("data.py:reader:8", "threading.py:run:9"),
    name="reader",
    active=False,
    place="reader (data.py:8)",
)


def queueing(*threads: StackThreadReading) -> Script:
    return with_threads(everybody(LOCK, QUEUE, ranks=1, victims=frozenset({0})), *threads)


def test_a_queue_that_no_thread_is_left_to_fill_is_told_without_a_probe() -> None:
    played = play(queueing(MAIN), MINUTE)
    assert reported(played) == {"RUN406": 0}
    words = str(evidence(played.one("RUN406"), "other_python_threads").value)
    assert words.startswith("none: no thread is left")
    assert "may have ended" in words


@pytest.mark.parametrize(("hands_over", "told"), [(None, {}), (True, {}), (False, {"RUN406": 0})])
def test_a_queue_that_a_thread_may_fill_is_left_alone(
    hands_over: bool | None, told: Mapping[str, int]
) -> None:
    other = msgspec.structs.replace(OTHER, hands_over=hands_over)
    played = play(queueing(MAIN, other), MINUTE)
    assert reported(played) == told
    if told:
        words = str(evidence(played.one("RUN406"), "other_python_threads").value)
        assert "by its source none of them hands anything over" in words


def test_other_threads_are_named_where_the_main_one_is_in_a_lock() -> None:
    script = with_threads(everybody(LOCK, OWN), MAIN, OTHER)
    finding = play(script, 30).one("RUN406")
    words = evidence(finding, "other_python_threads").value
    assert words == "reader at reader (data.py:8), which sleeps"


def test_the_thread_that_holds_the_interpreter_is_named() -> None:
    owner = msgspec.structs.replace(OTHER, owns_gil=True, active=True)
    finding = play(with_threads(everybody(LOCK, OWN), MAIN, owner), 30).one("RUN406")
    words = evidence(finding, "interpreter_held_by").value
    assert words == "thread reader at reader (data.py:8), which runs"
    free = play(with_threads(everybody(LOCK, OWN), MAIN, OTHER), 30).one("RUN406")
    assert not [each for each in free.evidence if each.signal == "interpreter_held_by"]


def polling(until: str, path: str = "") -> Script:
    """Sleeps a tenth of a second and looks, for ever, alone."""
    loop = FileLoop(until=until, text="while path.exists()", line=7, path=path)
    return with_threads(waking({"wait_channel": "hrtimer_nanosleep"}, 10), MAIN, file_loop=loop)


def waking(victim: Mapping[str, Any], times: int) -> Script:
    """One alone that wakes up so often in a second, and does next to nothing then."""
    base = everybody(victim, OWN, ranks=1, victims=frozenset({0}))

    def wakes(second: float) -> Changes:
        changes = base(second)
        if second >= FROM:
            (reading,) = changes.threads
            moved = 2500 + int(times * (second - FROM))
            main = msgspec.structs.replace(
                reading.main, voluntary_switches=moved, cpu_seconds=3.0 + 0.001 * (second - FROM)
            )
            changes.threads = [msgspec.structs.replace(reading, main=main)]
        return changes

    return wakes


@pytest.mark.parametrize("until", ["gone", "locked"])
def test_a_loop_that_looks_for_a_lock_file_is_told_without_a_probe(until: str) -> None:
    played = play(polling(until), MINUTE)
    assert reported(played) == {"RUN406": 0}
    words = str(evidence(played.one("RUN406"), "looks_again").value)
    assert "lock file" in words
    assert "while path.exists() (line 7)" in words


def test_the_lock_file_is_named_where_it_is_known() -> None:
    finding = play(polling("gone", "/data/x.lock"), MINUTE).one("RUN406")
    assert evidence(finding, "looks_for").value == "/data/x.lock"
    assert (finding.next_step or "").startswith("See who made /data/x.lock. If nobody works")
    unnamed = play(polling("gone"), MINUTE).one("RUN406")
    assert not [each for each in unnamed.evidence if each.signal == "looks_for"]
    assert (unnamed.next_step or "").startswith("See who made the lock file that it looks for.")


def test_who_waits_for_a_file_to_come_may_have_nothing_to_do() -> None:
    assert reported(play(polling("there"), MINUTE)) == {}


def test_one_that_sleeps_in_a_loop_of_something_else_may_have_nothing_to_do() -> None:
    def without_loop(second: float) -> Changes:
        changes = polling("gone")(second)
        changes.stacks = [msgspec.structs.replace(each, file_loop=None) for each in changes.stacks]
        return changes

    assert reported(play(without_loop, MINUTE)) == {}


@pytest.mark.parametrize(
    ("owner", "told"),
    [
        ({"owns_gil": True, "active": False}, {"RUN406": 0}),
        ({"owns_gil": True, "active": True}, {}),
        ({"owns_gil": False, "active": False}, {}),
    ],
)
def test_an_interpreter_kept_by_a_thread_that_sleeps_is_told_without_a_probe(
    owner: Mapping[str, Any], told: Mapping[str, int]
) -> None:
    """Python asks for it 200 times a second, so its main thread does not stand still."""
    script = waking(LOCK, 200)
    other = msgspec.structs.replace(OTHER, **owner)
    played = play(with_threads(script, MAIN, other), MINUTE)
    assert reported(played) == told
