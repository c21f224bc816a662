"""The last ten minutes: written when somebody asks, and by itself when an error is found."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

import msgspec
import pytest

from gputop.probes.recording.recording import Recording
from gputop.rules.finding import Judgement
from gputop.tui.session import keeper as keepers
from gputop.tui.session.keeper import Keeper

from support.recordings import BEGAN, samples
from support.replays import replay

LONG_SECONDS = 30.0


def judged(second: float, scenario: str = "gpu-lost") -> Judgement:
    """What a scenario has at its end, as if it were of that second."""
    last = replay(scenario).last
    frame = msgspec.structs.replace(last.frame, time_seconds=BEGAN + second)
    return msgspec.structs.replace(last, frame=frame)


class Told:
    """What was said, and from which thread."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.came = threading.Event()

    def __call__(self, sentence: str) -> None:
        self.sentences.append(sentence)
        self.came.set()


def play(keeper: Keeper, seconds: int, scenario: str = "gpu-lost") -> None:
    for number, sample in enumerate(samples(seconds)):
        keeper.sample(sample)
        keeper.judgement(judged(float(number), scenario))


def test_an_error_is_written_with_what_came_just_after(tmp_path: Path) -> None:
    told = Told()
    keeper = Keeper(tmp_path, told)
    play(keeper, 40)
    assert told.came.wait(LONG_SECONDS)
    (file,) = tmp_path.glob("gputop-*-*.gtop")
    assert told.sentences == [f"the last ten minutes are in {file}"]
    found = Recording(file)
    assert (found.first_seconds, found.last_seconds) == (BEGAN, BEGAN + keepers.SETTLE_SECONDS)
    assert "HW206" in {mark.rule for mark in found.marks()}


@pytest.mark.parametrize(("scenario", "there"), [("healthy", 0), ("straggler", 0)])
def test_nothing_less_is(scenario: str, there: int, tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, Told())
    play(keeper, 40, scenario)
    time.sleep(0.2)
    assert len(list(tmp_path.iterdir())) == there


def test_without_a_folder_nothing_is_written_unasked(tmp_path: Path) -> None:
    told = Told()
    keeper = Keeper(None, told)
    play(keeper, 40)
    assert keeper.write(tmp_path / "asked.gtop") == (
        f"the last ten minutes are in {tmp_path / 'asked.gtop'}"
    )
    assert Recording(tmp_path / "asked.gtop").count == 40
    assert told.sentences == []


def test_a_folder_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    told = Told()
    keeper = Keeper(tmp_path / "gone", told)
    play(keeper, 40)
    assert told.came.wait(LONG_SECONDS)
    assert "No such file or directory" in told.sentences[0]


def test_files_are_bounded_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "MOST_FILES", 0)
    told = Told()
    play(Keeper(tmp_path, told), 40)
    assert not told.came.wait(0.5)
    assert list(tmp_path.iterdir()) == []


def test_what_is_due_is_written_at_the_end(tmp_path: Path) -> None:
    """An error that is found in the last seconds of a watch is not lost with them."""
    told = Told()
    keeper = Keeper(tmp_path, told)
    play(keeper, 10)
    assert list(tmp_path.iterdir()) == []
    keeper.close()
    (file,) = tmp_path.glob("gputop-*-*.gtop")
    assert told.sentences == [f"the last ten minutes are in {file}"]
    assert Recording(file).count == 10


def test_a_dead_mount_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging goes on while a file is written to a pipe that nobody reads, and the end waits for no more than its time."""
    monkeypatch.setattr(keepers, "CLOSE_SECONDS", 0.2)
    told = Told()
    keeper = Keeper(tmp_path, told)
    play(keeper, 10)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    os.set_blocking(writing, True)
    opened = os.open

    def to_pipe(path: Path, flags: int, *more: int) -> int:
        return os.dup(writing) if flags & os.O_EXCL else opened(path, flags, *more)

    monkeypatch.setattr(os, "open", to_pipe)
    keeper.close()
    assert told.sentences == ["the last ten minutes are not written: the disk does not answer"]
    keeper.sample(samples()[11])
    os.close(reading)
    os.close(writing)


def test_ten_minutes_take_little_memory() -> None:
    keeper = Keeper()
    for sample in samples(120):
        keeper.sample(sample)
    assert keeper.bytes < 8_000_000 / 600 * 120
