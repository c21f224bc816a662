"""What is recorded lasts, in whole blocks, whatever becomes of the recorder, the disk or the folder."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gputop.probes.model.sample import Sample
from gputop.probes.recording.errors import RecordingError
from gputop.probes.recording.marks import Mark
from gputop.probes.recording.recording import Recording
from gputop.probes.recording.retention import Limits
from gputop.probes.recording.writer import Writer

from support.recordings import START, mark, samples

HOUR = 3600.0
TO_THE_HOUR = HOUR - START % HOUR
"""From the first sample on."""


def later(sample: Sample, seconds: float) -> Sample:
    """The same sample at another time."""
    return replace(
        sample,
        time_seconds=sample.time_seconds + seconds,
        monotonic_seconds=sample.monotonic_seconds + seconds,
    )


def write(recording: Path, taken: Sequence[Sample], limits: Limits | None = None) -> Writer:
    writer = Writer(recording, limits)
    for sample in taken:
        writer.take(sample)
    writer.close()
    return writer


def read(where: Path) -> list[Sample]:
    with Recording(where) as recording:
        return [kept.sample for kept in recording.kept()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_blocks_are_of_ten_seconds_and_for_nobody_elses_eyes(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run")
    for number, sample in enumerate(samples(25)):
        writer.take(sample)
        assert writer.samples == (number + 1) // 10 * 10
    writer.close()
    assert names(tmp_path) == ["run-20261031T140731Z-000.gtop"]
    (path,) = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(path) == list(samples(25))
    with Recording(path) as recording:
        assert [block.samples for block in recording.blocks] == [10, 10, 5]
    assert writer.size_bytes == path.stat().st_size


def test_each_hour_and_each_boot_begins_a_segment(tmp_path: Path) -> None:
    taken = [
        *(later(each, TO_THE_HOUR - 5) for each in samples(12)),
        *(replace(later(each, TO_THE_HOUR + 30), boot_id="next") for each in samples(3)),
    ]
    write(tmp_path / "run", taken)
    assert names(tmp_path) == [
        "run-20261031T145955Z-000.gtop",
        "run-20261031T150000Z-001.gtop",
        "run-20261031T150030Z-002.gtop",
    ]
    assert read(tmp_path / "run") == taken


def test_what_comes_twice_is_recorded_once(tmp_path: Path) -> None:
    """A collector sends its newest samples again after a reconnect."""
    write(tmp_path / "run", [*samples(8), *samples(12)])
    assert read(tmp_path / "run") == list(samples(12))


def test_a_recording_goes_on_under_its_name_and_writes_over_nothing(tmp_path: Path) -> None:
    write(tmp_path / "run", samples(12))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "run-20261031T140751Z-001.gtop").symlink_to(tmp_path / "elsewhere")
    write(tmp_path / "run", [later(each, 20.0) for each in samples(3)])
    assert not (tmp_path / "elsewhere").exists()
    assert all(path.read_bytes() == data for path, data in before.items())
    assert "run-20261031T140751Z-002.gtop" in names(tmp_path)


def test_another_nodes_name_is_not_taken(tmp_path: Path) -> None:
    write(tmp_path / "run", samples(3))
    writer = write(tmp_path / "run", [replace(later(samples(1)[0], 9.0), node="other")])
    assert writer.error == f"{tmp_path / 'run'} is a recording of node17, and this is other"
    assert (writer.samples, writer.lost_samples) == (0, 1)


def test_a_sample_that_has_no_form_is_left_out(tmp_path: Path) -> None:
    taken = list(samples(5))
    bad = replace(taken[2], node="\ud800")
    writer = Writer(tmp_path / "run")
    writer.take(replace(bad, node=taken[2].node, xids=(bad,)))
    for sample in taken:
        writer.take(sample)
    writer.close()
    assert read(tmp_path / "run") == taken
    assert writer.lost_samples == 1


def test_what_is_redacted_is_never_written(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run", redact=lambda sample: replace(sample, processes=()))
    for sample in samples(3):
        writer.take(sample)
    writer.close()
    assert read(tmp_path / "run") == [replace(each, processes=()) for each in samples(3)]


def test_nothing_new_for_long_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(tmp_path / "run")
    writer.take(samples(1)[0])
    writer.look()
    assert not names(tmp_path)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 11.0)
    writer.look()
    assert read(tmp_path / "run") == list(samples(1))
    writer.close()


def test_a_removed_segment_is_begun_anew_and_a_removed_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    writer = Writer(folder / "run")
    taken = samples(40)
    for number, sample in enumerate(taken):
        if number in (10, 20):
            for path in folder.iterdir():
                path.unlink()
        if number == 20:
            folder.rmdir()
        if number == 30:
            assert writer.error == (
                f"the recording cannot be written: the folder {folder} is not there any more"
            )
            assert writer.lost_samples == 10
            folder.mkdir()
        writer.take(sample)
    writer.close()
    assert (writer.error, writer.samples, writer.lost_samples) == ("", 30, 10)
    assert read(folder / "run") == list(taken[30:])


KILLED = """
import sys, time
from pathlib import Path
from gputop.probes.recording.writer import Writer
from support.recordings import samples
writer = Writer(Path(sys.argv[1]))
taken = samples(30)
for number, sample in enumerate(taken[:25]):
    writer.take(sample)
print("ready", flush=True)
time.sleep(600)
"""


def test_all_whole_blocks_of_a_killed_recorder_open(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    tests = str(Path(__file__).parents[2])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": tests}
    ) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"ready\n"
        recorder.send_signal(signal.SIGKILL)
        assert recorder.wait() == -signal.SIGKILL
    assert read(tmp_path / "run") == list(samples(20))


FULL = """
import os, sys
from pathlib import Path
from gputop.probes.recording.recording import Recording
from gputop.probes.recording.writer import Writer
from support.recordings import samples
folder = Path(sys.argv[1])
writer = Writer(folder / "run")
taken = samples(100)
filler = folder / "filler"
for number, sample in enumerate(taken):
    if number == 20:
        space = os.statvfs(folder)
        filler.write_bytes(bytes(space.f_bavail * space.f_frsize - 8192))
    if number == 50:
        print(writer.error)
        filler.unlink()
    writer.take(sample)
writer.close()
assert os.system(f"mount -o remount,ro {folder}") == 0
after = Writer(folder / "run")
for sample in taken:
    after.take(sample)
after.close()
print(after.error)
print(writer.samples, writer.lost_samples)
with Recording(folder / "run") as recording:
    print([taken.index(kept.sample) for kept in recording.kept()], recording.damage())
"""


def test_a_full_disk_and_one_that_becomes_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    script = f'mount -t tmpfs -o size=1m none "{folder}" && exec "$@"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-c", FULL, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert done.stderr == ""
    full, read_only, counts, found = done.stdout.splitlines()
    assert full == f"the recording cannot be written: no space left on device ({folder})"
    assert read_only == f"the recording cannot be written: read-only file system ({folder})"
    kept = [*range(20), *range(50, 100)]
    assert (counts, found) == ("70 30", f"{kept} ")


@pytest.mark.parametrize("odd", ["nowhere", "file"])
def test_where_there_is_no_place_it_says_so_at_once(tmp_path: Path, odd: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match=f"{odd} cannot hold a recording: "):
        Writer(tmp_path / odd / "run")


def test_the_oldest_segments_go_when_they_are_too_many_or_too_old(tmp_path: Path) -> None:
    write(tmp_path / "other", samples(3))
    (tmp_path / "run-notes.txt").touch()
    taken = [
        later(each, hour * HOUR) for hour in range(5) for each in samples(12, step_seconds=2.0)
    ]
    write(tmp_path / "run", taken, Limits(keep_seconds=2 * HOUR))
    left = [name.split("-")[2] for name in names(tmp_path) if name.startswith("run-2")]
    assert left == ["001.gtop", "002.gtop", "003.gtop", "004.gtop"][-len(left) :]
    assert 3 <= len(left) <= 4
    assert {"run-notes.txt", "other-20261031T140731Z-000.gtop"} <= set(names(tmp_path))
    size = sum(path.stat().st_size for path in tmp_path.glob("run-2*"))
    write(
        tmp_path / "run",
        [later(each, 6 * HOUR) for each in samples(12)],
        Limits(max_bytes=size // 2),
    )
    assert sum(path.stat().st_size for path in tmp_path.glob("run-2*")) < size


def test_a_segment_is_ended_before_it_is_too_large_a_part(tmp_path: Path) -> None:
    assert Limits(max_bytes=80 << 20).segment_bytes == 10 << 20
    assert Limits(max_bytes=1000).segment_bytes == 1 << 20
    assert Limits().segment_bytes == float("inf")


def recorded_long_ago(tmp_path: Path, marks: Sequence[tuple[Mark, ...]]) -> list[Sample]:
    """A segment of 400 s, and what comes hours later: it is thinned then."""
    taken = list(samples(400))
    writer = Writer(tmp_path / "run", thin_after_seconds=HOUR)
    for sample, marked in zip(taken, marks, strict=True):
        writer.take(sample, marked)
    for sample in taken[:90]:
        writer.take(later(sample, 3 * HOUR), marks[-1])
    writer.close()
    return taken


def test_an_old_segment_keeps_a_tenth_and_all_phase_spans(tmp_path: Path) -> None:
    taken = recorded_long_ago(tmp_path, [()] * 400)
    path = next(path for path in tmp_path.iterdir() if path.name.endswith("000.gtop"))
    kept = read(path)
    assert [each.time_seconds - START for each in kept] == [*range(0, 400, 10), 399]
    for number in range(8):
        steps = [step for each in kept for step in each.probes[number].steps]
        every = {step.number for each in taken for step in each.probes[number].steps}
        assert {step.number for step in steps} == every
        spans = {span for each in kept for span in each.probes[number].segments}
        assert spans == {span for each in taken for span in each.probes[number].segments}
    by_time = {each.time_seconds: each for each in taken}
    for each in kept:
        whole = by_time[each.time_seconds]
        for probe, original in zip(each.probes, whole.probes, strict=True):
            assert replace(probe, steps=(), segments=()) == replace(original, steps=(), segments=())
            assert list(probe.steps) == sorted(probe.steps, key=lambda step: step.number)
        assert replace(each, probes=()) == replace(whole, probes=())
    with Recording(path) as recording:
        assert all(block.thinned and block.samples <= 60 for block in recording.blocks)
    assert len(read(tmp_path / "run")) == len(kept) + 90


def test_around_a_finding_every_sample_stays(tmp_path: Path) -> None:
    found = replace(mark(), since_seconds=START + 200)
    marks = [(found,) if 210 <= number < 230 else () for number in range(400)]
    recorded_long_ago(tmp_path, marks)
    path = next(path for path in tmp_path.iterdir() if path.name.endswith("000.gtop"))
    seconds = {each.time_seconds - START for each in read(path)}
    assert seconds >= set(range(80, 271))
    assert seconds < set(range(400))
    assert len(seconds) < 191 + 30
    with Recording(path) as recording:
        assert [(each.state, each.time_seconds - START) for each in recording.events] == [
            ("active", 210.0),
            ("cleared", 230.0),
        ]


def test_a_finding_at_the_start_of_an_hour_keeps_the_end_of_the_one_before(tmp_path: Path) -> None:
    begin = TO_THE_HOUR - 300
    found = replace(mark(), since_seconds=START + TO_THE_HOUR + 20)
    writer = Writer(tmp_path / "run")
    for number, sample in enumerate(samples(400)):
        writer.take(later(sample, begin), (found,) if number >= 320 else ())
    for sample in samples(120):
        writer.take(later(sample, begin + 4 * HOUR), (found,))
    writer.close()
    path = next(path for path in tmp_path.iterdir() if path.name.endswith("000.gtop"))
    seconds = {round(each.time_seconds - START - begin) for each in read(path)}
    assert seconds >= set(range(200, 300))
    assert len(seconds) < 100 + 25


def test_thinning_that_fails_leaves_the_segment_as_it_was(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run")
    for sample in samples(100):
        writer.take(sample)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    (tmp_path / f".{path.name}.thinned").mkdir()
    for sample in samples(100):
        writer.take(later(sample, 3 * HOUR))
    writer.close()
    assert path.read_bytes() == before
    assert len(read(tmp_path / "run")) == 200
