"""A child that several threads end at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gputop.probes.feeds.child import Child, spawned
from gputop.probes.feeds.collector_feed import CollectorFeed

THREADS = 8


def at_once(act: Callable[[], object]) -> list[object]:
    """What as many threads get who call it in the same moment; an exception counts as an answer."""
    start = threading.Barrier(THREADS)
    answers: list[object] = []

    def call() -> None:
        start.wait()
        try:
            answers.append(act())
        except Exception as error:  # noqa: BLE001 - the test shall see it
            answers.append(error)

    threads = [threading.Thread(target=call) for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers


def test_all_who_wait_for_one_child_learn_how_it_ended() -> None:
    for _ in range(20):
        child = Child(spawned(["/bin/sh", "-c", "read line; exit 3"]))

        def end(child: Child = child) -> str | None:
            child.write(b"\n")
            return child.ended_within(10)

        assert at_once(end) == ["exit code 3"] * THREADS
        child.close()


def test_a_closed_child_is_left_alone() -> None:
    child = Child(spawned(["/bin/sleep", "60"]))
    child.kill()
    assert child.ended_within(10) == "signal 9"
    assert at_once(child.close) == [None] * THREADS
    child.write(b"\n")
    child.kill()
    assert child.ended_within(0) == "signal 9"


def test_a_feed_may_be_closed_by_several_threads_and_again() -> None:
    feed = CollectorFeed(0.5)
    assert at_once(feed.close) == [""] * THREADS
    assert feed.close() == ""
    assert list(feed.messages()) == []
