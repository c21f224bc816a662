"""Recording beside whatever the disk does: nothing blocks, what is lost is counted, the rest is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gputop.probes.model.sample import Sample
from gputop.probes.recording.recording import Recording, segments_of
from gputop.probes.recording.ring import Ring
from gputop.probes.recording.segment import RecordingError, write_blocks
from gputop.probes.recording.writer import Recorder

from support.recordings import BEGAN, NOTE, samples


def record(name: Path, entries: tuple[Sample, ...], most_bytes: int | None = None) -> Recorder:
    recorder = Recorder(name, most_bytes)
    for entry in entries:
        recorder.add(entry)
    assert recorder.close()
    return recorder


def seconds(recording: Recording) -> list[float]:
    return [each.time_seconds - BEGAN for each in recording.samples(0, 1e12)]


def test_all_of_it_is_kept(tmp_path: Path) -> None:
    recorder = record(tmp_path / "run", samples())
    assert (recorder.dropped, recorder.error) == (0, "")
    recording = Recording(tmp_path / "run")
    assert list(recording.samples(0, 1e12)) == list(samples())
    assert recorder.bytes == sum(each.stat().st_size for each in segments_of(tmp_path / "run"))


def test_a_new_hour_and_a_new_boot_begin_a_new_file(tmp_path: Path) -> None:
    first, second, third = samples(30)[:10], samples(30)[10:20], samples(30)[20:]
    later = tuple(
        msgspec.structs.replace(each, time_seconds=each.time_seconds + 3600) for each in second
    )
    booted = tuple(
        msgspec.structs.replace(each, time_seconds=each.time_seconds + 3600, boot_id="b")
        for each in third
    )
    record(tmp_path / "run", (*first, *later, *booted))
    assert len(segments_of(tmp_path / "run")) == 3
    assert Recording(tmp_path / "run").count == 30


def test_a_clock_that_is_set_back_begins_a_block(tmp_path: Path) -> None:
    back = tuple(
        msgspec.structs.replace(each, time_seconds=each.time_seconds - 7.0)
        for each in samples(20)[10:]
    )
    record(tmp_path / "run", (*samples(20)[:10], *back))
    assert Recording(tmp_path / "run").count == 20


def test_the_oldest_files_make_room(tmp_path: Path) -> None:
    entries = tuple(
        msgspec.structs.replace(each, time_seconds=BEGAN + 3600 * (number // 10) + number)
        for number, each in enumerate(samples(60))
    )
    recorder = record(tmp_path / "run", entries, most_bytes=120_000)
    left = segments_of(tmp_path / "run")
    assert recorder.dropped == 0
    assert 1 <= len(left) < 6
    assert seconds(Recording(tmp_path / "run"))[-1] == entries[-1].time_seconds - BEGAN


def test_where_no_file_can_be_made_it_says_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file or directory"):
        Recorder(tmp_path / "no/such/run")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_what_comes_after_and_no_more(small_disk: Path) -> None:
    recorder = record(small_disk / "run", samples())
    assert recorder.dropped > 0
    assert "No space left on device" in recorder.error
    found = seconds(Recording(small_disk / "run"))
    assert found == list(range(len(found))) and len(found) >= 10
    assert Recording(small_disk / "run").unreadable == []


def test_when_there_is_room_again_it_goes_on(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(60_000))
    recorder = Recorder(small_disk / "run")
    for entry in samples()[:21]:
        recorder.add(entry)
    deadline = time.monotonic() + 30
    while not recorder.error and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "No space" in recorder.error
    (small_disk / "ballast").unlink()
    for entry in samples()[21:30]:
        recorder.add(entry)
    assert recorder.close()
    assert (recorder.error, seconds(Recording(small_disk / "run"))[-1]) == ("", 29.0)


def test_a_folder_that_is_removed_under_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    recorder = Recorder(folder / "run")
    shutil.rmtree(folder)
    for entry in samples()[:25]:
        recorder.add(entry)
    assert recorder.close()  # what it has open goes on: nothing hangs and nothing raises


def test_a_disk_that_hangs_keeps_nobody_waiting(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run")
    os.mkfifo(tmp_path / "fifo")
    held = os.open(tmp_path / "fifo", os.O_RDWR)
    # Its thread stands in a write to a pipe that nobody reads, as it would on a dead mount.
    os.set_blocking(held, True)
    os.write(held, bytes(60_000))
    (file,) = tmp_path.glob("run-*.gtop")
    (written_to,) = (
        int(each.name) for each in Path("/proc/self/fd").iterdir() if _leads_to(each, file)
    )
    os.dup2(held, written_to)
    began, late = time.monotonic(), time.time() - BEGAN
    # Samples of now: others would begin a file of their own.
    new = [msgspec.structs.replace(e, time_seconds=e.time_seconds + late) for e in samples()]
    for _ in range(20):
        for entry in new:
            recorder.add(entry)
    assert time.monotonic() - began < 5
    assert recorder.dropped > 0
    assert not recorder.close()


def _leads_to(link: Path, file: Path) -> bool:
    try:
        return link.readlink() == file
    except OSError:
        return False


def test_the_ring_keeps_ten_minutes(tmp_path: Path) -> None:
    ring = Ring(seconds=30)
    for entry in samples():
        ring.add(entry)
    ring.add(msgspec.structs.replace(NOTE, time_seconds=BEGAN + 59))
    size = write_blocks(tmp_path / "kept.gtop", ring.blocks())
    assert size == (tmp_path / "kept.gtop").stat().st_size
    found = seconds(Recording(tmp_path / "kept.gtop"))
    assert found[-1] == 59.0 and 30 <= len(found) <= 40
