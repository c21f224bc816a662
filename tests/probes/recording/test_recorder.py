"""Recording beside the rest: what is kept in memory, when it is written, and that nobody waits for a disk."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gputop.probes.recording.errors import RecordingError
from gputop.probes.recording.incidents import Incidents
from gputop.probes.recording.lock import NodeLock
from gputop.probes.recording.recorder import QUEUE_SAMPLES, Recorder
from gputop.probes.recording.recording import Recording
from gputop.probes.recording.ring import Ring
from gputop.probes.recording.whole_file import write_file
from gputop.probes.recording.writer import Writer

from support.recordings import START, mark, samples


def times(path: Path) -> list[float]:
    with Recording(path) as recording:
        return [kept.sample.time_seconds - START for kept in recording.kept()]


def test_the_ring_keeps_the_last_minutes(tmp_path: Path) -> None:
    ring = Ring(seconds=60.0)
    for sample in samples(200):
        ring.take(sample)
    for sample in samples(3):
        ring.take(sample)  # sent again
    size = ring.save(tmp_path / "out.gtop")
    assert times(tmp_path / "out.gtop") == [*range(130, 200)]
    assert size == (tmp_path / "out.gtop").stat().st_size
    assert stat.S_IMODE((tmp_path / "out.gtop").stat().st_mode) == 0o600


def test_the_ring_is_bounded_in_bytes(tmp_path: Path) -> None:
    ring = Ring(max_bytes=150_000)
    for sample in samples(200):
        ring.take(sample)
        assert ring.size_bytes < 200_000
    ring.save(tmp_path / "out.gtop")
    assert times(tmp_path / "out.gtop")[-1] == 199


def test_the_ring_keeps_what_was_before_a_restart_of_the_node(tmp_path: Path) -> None:
    ring = Ring()
    for sample in samples(15):
        ring.take(sample)
    after = [
        replace(each, boot_id="next", monotonic_seconds=float(n))
        for n, each in enumerate(samples(5))
    ]
    for sample in after:
        ring.take(sample)
    ring.save(tmp_path / "out.gtop")
    with Recording(tmp_path / "out.gtop") as recording:
        assert [kept.sample for kept in recording.kept()] == [*samples(15), *after]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    ring = Ring()
    with pytest.raises(RecordingError, match="nothing to save yet"):
        ring.save(tmp_path / "out")
    ring.take(samples(1)[0])
    (tmp_path / "out").write_text("mine")
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("out", "link"):
        with pytest.raises(
            RecordingError, match=f"{name} is there already: nothing is written over it"
        ):
            ring.save(tmp_path / name)
    assert (tmp_path / "out").read_text() == "mine"
    ring.save(tmp_path / "out", force=True)
    assert times(tmp_path / "out") == [0.0]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RecordingError, match="is not a regular file: it is left as it is"):
        write_file(tmp_path / "pipe", [b"x"], force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out", "pipe"]


def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"first"
        raise OSError(28, "No space left on device")

    with pytest.raises(RecordingError, match="cannot be written: no space left on device"):
        write_file(tmp_path / "out", blocks())
    assert list(tmp_path.iterdir()) == []


def test_an_error_writes_the_last_minutes_and_the_next_minute_once_more(tmp_path: Path) -> None:
    said: list[str] = []
    recorder = Recorder(ring=Ring(), incidents=Incidents(tmp_path), on_notice=said.append)
    error, other, warning = (
        mark("HW201"),
        mark("HW205"),
        replace(mark("LNK501"), severity="warning"),
    )
    for number, sample in enumerate(samples(150)):
        marks = [
            (warning, number >= 5),
            (mark("HST1", "pending"), number >= 6),
            (error, number >= 20),
        ]
        marks.append((other, number in range(30, 34)))
        recorder.take(sample, tuple(each for each, there in marks if there))
        while not recorder.idle:
            time.sleep(0.001)
    assert recorder.close() == ""
    first, second = sorted(tmp_path.iterdir())
    assert first.name == "gputop-finding-HW201-20261031T140751Z.gtop"
    assert second.name == "gputop-finding-HW205-20261031T140851Z.gtop"
    assert times(first) == [*range(21)]
    assert times(second) == [*range(81)]
    assert said == [f"the last minutes are saved in {path}" for path in (first, second)]


def test_what_would_be_written_in_a_moment_is_written_at_the_end(tmp_path: Path) -> None:
    recorder = Recorder(ring=Ring(), incidents=Incidents(tmp_path))
    for number, sample in enumerate(samples(30)):
        marks = [(mark("HW201"), number >= 5), (mark("HW205"), number >= 20)]
        recorder.take(sample, tuple(each for each, there in marks if there))
        while not recorder.idle:
            time.sleep(0.001)
    assert len(list(tmp_path.iterdir())) == 1
    assert recorder.close(20) == ""
    assert [times(path)[-1] for path in sorted(tmp_path.iterdir())] == [5, 29]


def test_a_folder_of_incidents_is_bounded_and_only_ours_are_removed(tmp_path: Path) -> None:
    ring = Ring()
    for sample in samples(12):
        ring.take(sample)
    (tmp_path / "run-20261031T140731Z-000.gtop").write_text("somebody's")
    incidents = Incidents(tmp_path, most_files=3)
    for number in range(6):
        incidents.note(f"HW20{number}", START + 100 * number)
        path = incidents.save(ring, START + 100 * number)
        assert path is not None
        os.utime(path, (START + 100 * number,) * 2)
    left = sorted(path.name.split("-")[2] for path in tmp_path.iterdir())
    assert left == ["000.gtop", "HW203", "HW204", "HW205"]


def test_a_folder_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    said: list[str] = []
    recorder = Recorder(ring=Ring(), incidents=Incidents(tmp_path / "no"), on_notice=said.append)
    for sample in samples(20):
        recorder.take(sample, (mark(),))
    recorder.close()
    assert len(said) == 1
    assert "cannot be written: no such file or directory" in said[0]


def test_a_disk_that_hangs_holds_up_nobody(tmp_path: Path) -> None:
    """A FIFO that nobody reads stands for a file system that does not answer."""
    writer = Writer(tmp_path / "run")
    recorder = Recorder(writer=writer, ring=Ring())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    hung = os.open(pipe, os.O_WRONLY)
    taken = samples(40 + QUEUE_SAMPLES)
    writer.take(taken[0])
    writer.flush()
    segment = writer._segment  # pyright: ignore[reportPrivateUsage]
    assert segment is not None
    os.dup2(hung, segment._descriptor)  # pyright: ignore[reportPrivateUsage]
    os.set_blocking(hung, False)
    try:
        while True:
            os.write(hung, bytes(65536))
    except BlockingIOError:
        os.set_blocking(hung, True)
    began = time.monotonic()
    for number, sample in enumerate(taken[1:]):
        recorder.take(sample, ())
        if number < 10:
            time.sleep(0.02)
    assert time.monotonic() - began < 5.0
    assert recorder.dropped_samples > 0
    assert recorder.hangs() == (
        f"the recording hangs in {tmp_path}: {recorder.dropped_samples} samples are lost so far"
    )
    said: list[str] = []
    recorder.save(tmp_path / "out", said.append)
    assert said == [recorder.hangs()]
    began = time.monotonic()
    assert recorder.close(0.3) == "the recording hangs: what came last is not in it"
    assert time.monotonic() - began < 5.0
    os.close(reader)


def test_one_recording_a_node(tmp_path: Path) -> None:
    code = """
import sys, time
from gputop.probes.recording.lock import NodeLock
lock = NodeLock("into one")
print("ready", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"ready\n"
        with pytest.raises(
            RecordingError, match=rf"this node is recorded already \(pid {first.pid}, into one\)"
        ):
            NodeLock("into two")
        first.kill()
    with NodeLock("into two"):
        pass
    NodeLock("into three").close()
