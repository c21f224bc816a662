"""A recording is played as a feed: what comes is what was recorded, in order, from any time on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.feeds.protocol import FeedError, Jumped, Notice
from gputop.probes.feeds.replay import ReplayFeed
from gputop.probes.model.sample import Sample
from gputop.probes.recording.recording import Recording
from gputop.rules.engine import Engine
from gputop.tui.session.watch import Watch

from support.recordings import START, mark, samples, write_blocks

WAIT_SECONDS = 20.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run-20261031T140731Z-000.gtop"
    marks = [(mark(),) if number >= 30 else () for number in range(90)]
    write_blocks(path, samples(90), marks=marks)
    return path


class Played:
    """What a feed brings, taken on a thread."""

    def __init__(self, feed: ReplayFeed) -> None:
        self.feed = feed
        self._came: Queue[Sample | Jumped | Notice | None] = Queue()
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        for message in self.feed.messages():
            self._came.put(message)
        self._came.put(None)

    def next(self) -> Sample | Jumped | Notice | None:
        return self._came.get(timeout=WAIT_SECONDS)

    def numbers(self, count: int) -> list[int]:
        found: list[int] = []
        for _ in range(count):
            message = self.next()
            assert isinstance(message, Sample)
            found.append(round(message.time_seconds - START))
        return found

    def nothing_comes(self) -> bool:
        time.sleep(0.3)
        return self._came.empty()


@pytest.fixture
def playing(path: Path) -> Iterator[Played]:
    feed = ReplayFeed(Recording(path), start_seconds=START + 70)
    feed.pause()
    yield Played(feed)
    feed.close()


def test_the_minute_before_comes_first_and_at_once(playing: Played) -> None:
    assert playing.feed.past_samples == 60
    assert playing.numbers(61) == list(range(10, 71))
    assert playing.nothing_comes()
    assert playing.feed.position_seconds == START + 70


def test_steps_and_jumps(playing: Played) -> None:
    playing.numbers(61)
    playing.feed.step(2)
    assert playing.numbers(2) == [71, 72]
    playing.feed.step(-1)
    assert playing.next() == Jumped(60)
    assert playing.numbers(61)[-1] == 71
    playing.feed.seek(START + 4.5)
    assert playing.next() == Jumped(4)
    assert playing.numbers(5) == [0, 1, 2, 3, 4]
    playing.feed.step(-9)
    assert playing.next() == Jumped(0)
    assert playing.numbers(1) == [0]
    playing.feed.seek(0.0)
    assert playing.next() == Jumped(0)
    assert playing.numbers(1) == [0]
    assert playing.nothing_comes()


def test_it_goes_on_as_fast_as_it_is_told_and_waits_at_the_end(playing: Played) -> None:
    playing.numbers(61)
    playing.feed.set_speed(200.0)
    playing.feed.pause(False)
    assert playing.numbers(19) == list(range(71, 90))
    assert playing.nothing_comes()
    playing.feed.seek(START + 88)
    assert playing.next() == Jumped(60)
    assert playing.numbers(62)[-2:] == [88, 89]
    playing.feed.close()
    assert playing.next() is None


def test_seconds_of_the_recording_are_seconds_here(path: Path) -> None:
    feed = ReplayFeed(Recording(path), start_seconds=START)
    playing = Played(feed)
    playing.numbers(1)
    began = time.monotonic()
    playing.numbers(2)
    assert time.monotonic() - began > 1.8
    feed.close()


def test_unpaced_it_ends_at_the_time_that_is_asked_for(path: Path) -> None:
    feed = ReplayFeed(
        Recording(path), start_seconds=START + 20, end_seconds=START + 25, paced=False
    )
    came = list(feed.messages())
    assert came == list(samples(90)[0:26])
    assert feed.past_samples == 20


def test_what_was_judged_live_is_beside_each_sample(path: Path) -> None:
    feed = ReplayFeed(Recording(path), paced=False)
    ids = [[each.id for each in feed.marks] for _ in feed.messages()]
    assert ids == [[]] * 30 + [["HW201"]] * 60
    assert [event.time_seconds for event in feed.events] == [START + 30]


def test_a_jump_begins_anew_what_was_judged(path: Path) -> None:
    """No rate is made of samples that lie an hour apart, and no history of two times."""
    feed = ReplayFeed(Recording(path), start_seconds=START, warm_up_seconds=0.0)
    feed.pause()
    watch = Watch(feed, Engine(()))
    judged = watch.judgements()
    first = next(judged).frame
    feed.step()
    assert next(judged).frame == derive(first, samples(90)[1])
    feed.seek(START + 80)
    assert next(judged).frame == derive(None, samples(90)[80])
    feed.close()


def test_damage_is_told_once_and_passed_over(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + data[len(data) // 2 + 7 :])
    came = list(ReplayFeed(Recording(path), paced=False).messages())
    assert [each for each in came if isinstance(each, Sample)] == [
        each for number, each in enumerate(samples(90)) if number // 10 != lost_block(came)
    ]
    (notice,) = (each for each in came if isinstance(each, Notice))
    assert notice.sentence.endswith("left out")


def test_damage_that_is_met_on_the_way_is_told(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    came = list(ReplayFeed(Recording(path), paced=False).messages())
    assert [round(each.time_seconds - START) for each in came[:-1] if isinstance(each, Sample)] == [
        *range(80)
    ]
    assert came[-1] == Notice(f"{path.stem} is damaged: 1 block left out")


def lost_block(came: list[Sample | Jumped | Notice]) -> int:
    there = {round(each.time_seconds - START) // 10 for each in came if isinstance(each, Sample)}
    (lost,) = set(range(9)) - there
    return lost


def test_where_all_is_damaged_it_says_so(path: Path) -> None:
    data = bytearray(path.read_bytes())
    write_blocks(path, samples(10))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FeedError, match="all is damaged"):
        ReplayFeed(Recording(path))
