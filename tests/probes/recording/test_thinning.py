"""What becomes of old files: smaller, with all phases and all around a finding; or removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

from gputop.probes.model.mark import Mark
from gputop.probes.model.sample import Sample
from gputop.probes.recording.block import Entry
from gputop.probes.recording.recording import Recording, segments_of
from gputop.probes.recording.segment import RecordingError, Segment
from gputop.probes.recording.thinning import thinned, windows_of
from gputop.probes.recording.tidying import Tidier, began_seconds
from gputop.probes.recording.writer import Recorder

from support.recordings import BEGAN, NOTE, samples, small_samples, written, written_of

HOUR = 3600.0
COUNT = 400


def note(second: float, *, began: bool = True) -> Mark:
    return msgspec.structs.replace(NOTE, time_seconds=BEGAN + second, began=began)


def later(taken: Iterable[Sample], seconds: float) -> list[Sample]:
    return [msgspec.structs.replace(e, time_seconds=e.time_seconds + seconds) for e in taken]


def record(name: Path, entries: Iterable[Entry], **limits: float) -> None:
    recorder = Recorder(name, **limits)  # type: ignore[arg-type]
    for entry in entries:
        while recorder.waiting:
            pass  # else it would drop what the disk has no time for
        recorder.add(entry)
    assert recorder.close()
    assert (recorder.dropped, recorder.error) == (0, "")


def tidied(name: Path, now_seconds: float, **limits: float | None) -> Tidier:
    """After as many steps as there could be."""
    tidier = Tidier(name, limits.get("most_bytes"), limits.get("keep_seconds"))  # type: ignore[arg-type]
    for _ in range(300):
        tidier.step(now_seconds, None)
    return tidier


def thin(path: Path, marks: Sequence[Mark] = ()) -> list[Sample]:
    for _ in thinned(Segment(path), windows_of(marks)):
        pass
    return list(Recording(path).samples(0, 1e12))


def test_of_ten_seconds_one_sample_stays_with_all_phases(tmp_path: Path) -> None:
    taken = samples(COUNT)
    path = written(tmp_path / "r.gtop", COUNT)
    before = path.stat().st_size
    kept = thin(path)
    assert [each.time_seconds - BEGAN for each in kept] == [*range(0, COUNT, 10), COUNT - 1]
    for number in range(8):
        for of in (steps_of, spans_of):
            told = [span for each in kept for span in of(each, number)]
            assert set(told) == {span for each in taken for span in of(each, number)}
            assert told == sorted(told) or of is spans_of
    by_time = {each.time_seconds: each for each in taken}
    for each in kept:
        whole = by_time[each.time_seconds]
        assert bare(each) == bare(whole)
    assert path.stat().st_size < before / 4
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(Recording(path).marks()) == [NOTE]
    assert [each.name for each in tmp_path.iterdir()] == ["r.gtop"]


def steps_of(sample: Sample, number: int) -> list[int]:
    return [step.number for step in sample.probes[number].steps]


def spans_of(sample: Sample, number: int) -> list[tuple[str, float]]:
    return [(each.phase, each.monotonic_seconds) for each in sample.probes[number].segments]


def bare(sample: Sample) -> Sample:
    """Without steps and spans, of which there may be more."""
    probes = tuple(msgspec.structs.replace(probe, steps=(), segments=()) for probe in sample.probes)
    return msgspec.structs.replace(sample, probes=probes)


def test_around_a_finding_every_sample_stays(tmp_path: Path) -> None:
    path = written_of(tmp_path / "r.gtop", small_samples(COUNT))
    seconds = {
        each.time_seconds - BEGAN for each in thin(path, [note(200), note(210, began=False)])
    }
    assert seconds >= set(range(80, 261))
    assert len(seconds) < 181 + 26


def test_a_finding_keeps_what_was_before_it_in_the_hour_before(tmp_path: Path) -> None:
    hour = HOUR - BEGAN % HOUR
    taken: list[Entry] = [*later(small_samples(COUNT), hour - 300)]
    taken.insert(321, note(hour + 20))
    record(tmp_path / "run", taken)
    assert len(segments_of(tmp_path / "run")) == 2
    tidied(tmp_path / "run", BEGAN + hour + 4 * HOUR)
    start = BEGAN + hour - 300
    seconds = {each.time_seconds - start for each in Recording(tmp_path / "run").samples(0, 1e12)}
    assert seconds >= set(range(200, 381))
    assert len(seconds) < 181 + 26


def test_recording_thins_what_is_an_hour_old_and_goes_on(tmp_path: Path) -> None:
    # It looks once a minute, and then thins a block with each sample that comes.
    new = later(small_samples(COUNT)[:120], 3 * HOUR)
    record(tmp_path / "run", [*small_samples(COUNT), *new])
    first, second = segments_of(tmp_path / "run")
    assert Recording(first).count == 41
    assert list(Recording(second).samples(0, 1e12)) == new


def test_who_reads_a_file_goes_on_with_what_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop", 60)
    recording = Recording(path)
    thin(path)
    assert list(recording.samples(0, 1e12)) == list(samples(60))


def test_a_damaged_block_is_left_out_and_the_rest_is_thinned(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop", 60)
    data = bytearray(path.read_bytes())
    data[Segment(path).places[2].end - 3] ^= 1
    path.write_bytes(data)
    assert [each.time_seconds - BEGAN for each in thin(path)] == [0, 10, 30, 40, 50, 59]


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop", 60)
    before = path.read_bytes()
    (tmp_path / ".r.gtop.thinned").mkdir()
    with pytest.raises(RecordingError):
        thin(path)
    assert path.read_bytes() == before


def test_what_is_left_half_done_leaves_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop", 60)
    before = path.read_bytes()
    work = thinned(Segment(path), ())
    next(work)
    work.close()
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [before]


def aged(folder: Path, hours: int) -> Callable[[], list[float]]:
    """Files of so many hours; which of them are there."""
    record(folder / "run", [e for hour in range(hours) for e in later(samples(12), hour * HOUR)])
    return lambda: [
        round((began_seconds(each) - BEGAN) / HOUR) for each in segments_of(folder / "run")
    ]


def test_the_oldest_go_by_age_and_by_size_and_nobody_elses(tmp_path: Path) -> None:
    written(tmp_path / "run-2-20261130T220000Z-000.gtop", 12)
    (tmp_path / "run-notes.gtop").touch()
    left = aged(tmp_path, 5)
    assert left() == [0, 1, 2, 3, 4]
    Tidier(tmp_path / "run", None, 2.5 * HOUR).remove(BEGAN + 4 * HOUR, None)
    assert left() == [1, 2, 3, 4]
    first, *_ = files = segments_of(tmp_path / "run")
    one_less = sum(each.stat().st_size for each in files) - 1
    Tidier(tmp_path / "run", one_less, None).remove(BEGAN, first)
    assert left() == [1, 3, 4]
    Tidier(tmp_path / "run", None, None).remove(BEGAN + 9e6, None)
    assert left() == [1, 3, 4]
    others = {"run-2-20261130T220000Z-000.gtop", "run-notes.gtop"}
    assert others <= {each.name for each in tmp_path.iterdir()}


def test_no_file_is_too_large_a_part_of_what_is_allowed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run", most_bytes=80 << 20)
    recorder.close()
    assert recorder.most_file_bytes == 10 << 20


def test_another_nodes_name_is_not_taken(tmp_path: Path) -> None:
    record(tmp_path / "run", samples(12))
    recorder = Recorder(tmp_path / "run")
    for each in later(samples(12), 60.0):
        recorder.add(msgspec.structs.replace(each, node="other"))
    recorder.close()
    assert "is a recording of node17, not of other" in recorder.error
    assert Recording(tmp_path / "run").count == 12


def test_what_is_redacted_is_never_written(tmp_path: Path) -> None:
    recorder = Recorder(
        tmp_path / "run", redact=lambda each: msgspec.structs.replace(each, processes=())
    )
    for each in samples(12):
        recorder.add(each)
    assert recorder.close()
    found = Recording(tmp_path / "run").samples(0, 1e12)
    assert [each.processes for each in found] == [()] * 12
