"""A recording as a feed: at a moment, at a pace, moved by who watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from gputop.probes.feeds.protocol import Notice
from gputop.probes.feeds.replay import ReplayFeed
from gputop.probes.model.sample import Sample
from gputop.probes.recording.recording import Recording

from support.recordings import BEGAN, written


def of(path: Path, at: float, **how: float) -> ReplayFeed:
    return ReplayFeed(Recording(written(path / "r.gtop")), BEGAN + at, **how)


def moments(feed: ReplayFeed) -> list[float]:
    return [each.time_seconds - BEGAN for each in feed.messages() if isinstance(each, Sample)]


def test_one_moment_with_its_past(tmp_path: Path) -> None:
    assert moments(of(tmp_path, 40, past_seconds=10)) == [float(each) for each in range(30, 41)]


class Reader(threading.Thread):
    """Reads a feed until it is closed."""

    def __init__(self, feed: ReplayFeed) -> None:
        super().__init__(daemon=True)
        self.feed = feed
        self.moments: list[float] = []
        self.notices: list[str] = []
        self.start()

    def run(self) -> None:
        for each in self.feed.messages():
            if isinstance(each, Notice):
                self.notices.append(each.sentence)
            elif isinstance(each, Sample):
                self.moments.append(each.time_seconds - BEGAN)

    def until(self, moment: float) -> None:
        for _ in _patiently():
            if self.moments and self.moments[-1] >= moment:
                return


def _patiently() -> Iterator[None]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        yield
        time.sleep(0.02)
    raise AssertionError("it never came")


def test_it_plays_at_its_speed_to_its_end(tmp_path: Path) -> None:
    began = time.monotonic()
    reader = Reader(of(tmp_path, 50, past_seconds=5, speed=10.0))
    reader.until(59)
    assert 0.7 <= time.monotonic() - began < 15
    assert reader.moments == [float(each) for each in range(45, 60)]
    for _ in _patiently():
        if reader.notices:
            break
    assert reader.notices == ["the recording ends here"]
    reader.feed.close()
    reader.join(5)
    assert not reader.is_alive()


def test_moving_in_it(tmp_path: Path) -> None:
    feed = of(tmp_path, 50, past_seconds=2, speed=0.1)
    reader = Reader(feed)
    reader.until(50)
    assert feed.seek(-30) == BEGAN + 20
    for _ in _patiently():
        if reader.moments[-1] == 20:
            break
    assert reader.moments[-3:] == [18.0, 19.0, 20.0]
    assert feed.seek(1000) == BEGAN + 59  # not beyond its end
    assert feed.seek(-1000) == BEGAN
    assert feed.seek_finding() == "HW206 Xid, GPU 3"
    for _ in _patiently():
        if reader.moments[-1] == 20:
            break
    assert feed.seek_finding() == ""
    feed.close()


def test_it_stands_still_when_it_is_told_to(tmp_path: Path) -> None:
    feed = of(tmp_path, 10, speed=20.0)
    reader = Reader(feed)
    reader.until(12)
    assert feed.pause()
    time.sleep(0.1)
    seen = len(reader.moments)
    time.sleep(0.4)
    assert len(reader.moments) <= seen + 1
    assert not feed.pause()
    reader.until(30)
    feed.close()


def test_speeds_have_limits(tmp_path: Path) -> None:
    feed = of(tmp_path, 10, speed=64.0)
    assert [feed.set_speed(2), feed.set_speed(0.5), feed.set_speed(1e-9)] == [100.0, 50.0, 0.1]
    feed.close()
