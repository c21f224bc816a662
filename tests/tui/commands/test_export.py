"""``gputop export``: what a trace has is what was recorded, in either format, on the clock of torch.profiler."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.probe_readings import SegmentReading
from gputop.probes.model.sample import Sample
from gputop.probes.recording.block import Entry
from gputop.probes.recording.segment import Segment
from gputop.probes.recording.thinning import thinned
from gputop.tui.reports.trace.chrome import BASE_SECONDS
from gputop.tui.reports.trace.trace import GPU_COUNTERS

from support.command_runs import run
from support.recordings import BEGAN, NOTE, samples, written_of
from support.torch_python import TORCH_PYTHON, needs_torch
from support.traces import Event, Read, of_chrome, of_perfetto

COUNT = 40
SECOND = 1_000_000_000


def exported(source: Path, kind: str, *words: str) -> Read:
    output = source.with_name(f"trace.{kind}")
    done = run("export", str(source), "--format", kind, "-o", str(output), "--force", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return (of_chrome if kind == "chrome" else of_perfetto)(output)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Read]:
    path = tmp_path_factory.mktemp("export") / "r.gtop"
    ended = msgspec.structs.replace(NOTE, time_seconds=BEGAN + 30, began=False)
    taken: list[Entry] = [*samples(COUNT, "straggler")]
    taken[21:21] = [NOTE]
    taken[32:32] = [ended]
    written_of(path, taken)
    return path, exported(path, "perfetto")


def of_rank(read: Read, rank: int, track: str) -> list[Event]:
    return [
        each
        for each in read.spans
        if each.group.startswith(f"rank {rank},") and each.track == track
    ]


def told(taken: Sequence[Sample], rank: int) -> dict[float, SegmentReading]:
    """All phases that any sample tells of."""
    return {
        segment.monotonic_seconds: segment
        for sample in taken
        for probe in sample.probes
        if probe.rank == rank
        for segment in probe.segments
    }


def test_every_phase_of_every_rank_is_there_and_joins_the_next(whole: tuple[Path, Read]) -> None:
    taken = samples(COUNT, "straggler")
    zero = taken[0].time_seconds - taken[0].monotonic_seconds
    for rank in range(8):
        spans = of_rank(whole[1], rank, "phases")
        phases = sorted(told(taken, rank).items())
        assert [each.name for each in spans] == [each.phase for _, each in phases]
        assert all(a.end == b.start for a, b in pairwise(spans))
        for span, (moment, segment) in zip(spans, phases, strict=True):
            assert abs(span.start / SECOND - (zero + moment)) < 1e-5
            assert dict(span.arguments) == {"step": segment.step}
        assert abs(spans[-1].end / SECOND - taken[-1].time_seconds) < 1e-3


def test_every_step_is_there_once_with_its_length(whole: tuple[Path, Read]) -> None:
    steps = {
        step.number: step
        for sample in samples(COUNT, "straggler")
        for step in sample.probes[2].steps
    }
    spans = of_rank(whole[1], 2, "steps")
    assert [each.name for each in spans] == [f"step {number}" for number in sorted(steps)]
    for span, number in zip(spans, sorted(steps), strict=True):
        assert abs((span.end - span.start) / SECOND - steps[number].seconds) < 1e-5
        gpu = {k: v for k, v in span.arguments if k.endswith("_gpu_seconds")}
        assert gpu == {f"{k}_gpu_seconds": v for k, v in steps[number].gpu_phases.items()}
    assert whole[1].pids[spans[0].group] == samples(1, "straggler")[0].probes[2].pid


def test_counters_are_what_was_read(whole: tuple[Path, Read]) -> None:
    taken = samples(COUNT, "straggler")
    found = [
        each for each in whole[1].values if (each.group, each.name) == ("GPU 3", "power_watts")
    ]
    assert [each.value for each in found] == [sample.gpus[3].power_watts for sample in taken]
    assert [round(each.moment / SECOND - BEGAN) for each in found] == list(range(COUNT))
    assert {each.name for each in whole[1].values if each.group == "GPU 3"} <= set(GPU_COUNTERS)


def test_rates_are_those_of_the_frames(whole: tuple[Path, Read]) -> None:
    frame: Frame | None = None
    expected: list[float] = []
    for sample in samples(COUNT, "straggler"):
        frame = derive(frame, sample)
        rate = frame.gpus[3].nvlink_rx_bytes_per_second
        expected += [] if rate is None else [rate]
    name = "nvlink_rx_bytes_per_second"
    found = [each.value for each in whole[1].values if (each.group, each.name) == ("GPU 3", name)]
    assert found == expected and len(found) > COUNT - 3 and max(found) > 1e9


def test_findings_last_from_their_marks_to_their_marks(whole: tuple[Path, Read]) -> None:
    (found,) = [each for each in whole[1].spans if each.group == "findings"]
    assert (found.name, found.track) == ("HW206 Xid", "HW206 Xid, GPU 3")
    assert [found.start, found.end] == [round((BEGAN + s) * SECOND) for s in (20, 30)]
    assert dict(found.arguments) == {"severity": "error", "at_the_end": "ended"}


def test_both_formats_say_the_same(whole: tuple[Path, Read]) -> None:
    chrome = exported(whole[0], "chrome")
    close = [
        (a._replace(start=0, end=0), b._replace(start=0, end=0))
        for a, b in zip(whole[1].spans, chrome.spans, strict=True)
        if max(abs(a.start - b.start), abs(a.end - b.end))
        <= 2  # of microseconds a float has so much
    ]
    assert len(close) == len(chrome.spans) and all(a == b for a, b in close)
    assert [each[:2] + each[3:] for each in chrome.values] == [
        each[:2] + each[3:] for each in whole[1].values
    ]
    assert chrome.pids == whole[1].pids


def test_a_part_of_it_knows_what_was_active(whole: tuple[Path, Read]) -> None:
    read = exported(whole[0], "perfetto", "--from", "-15", "--to", "-12")
    assert len({each.moment for each in read.values}) == 4
    (found,) = [each for each in read.spans if each.group == "findings"]
    assert (found.start, dict(found.arguments)["at_the_end"]) == (
        round((BEGAN + 20) * SECOND),
        "active",
    )


def test_what_nobody_saw_is_not_made_up(tmp_path: Path) -> None:
    """Ten minutes without a sample: the phase before them did not last as long."""
    taken = samples(20, "straggler")
    gap = 600.0

    def later(sample: Sample) -> Sample:
        probes = tuple(
            msgspec.structs.replace(
                probe,
                monotonic_seconds=probe.monotonic_seconds + gap,
                phase_monotonic_seconds=(probe.phase_monotonic_seconds or 0.0) + gap,
                step=(probe.step or 0) + 300,
                steps=(),
                segments=tuple(
                    SegmentReading(each.phase, each.monotonic_seconds + gap, each.step + 300)
                    for each in probe.segments[-3:]
                ),
            )
            for probe in sample.probes
        )
        return msgspec.structs.replace(
            sample,
            time_seconds=sample.time_seconds + gap,
            monotonic_seconds=sample.monotonic_seconds + gap,
            probes=probes,
        )

    path = written_of(tmp_path / "r.gtop", [*taken[:10], *map(later, taken[10:])])
    spans = of_rank(exported(path, "perfetto"), 0, "phases")
    assert max(each.end - each.start for each in spans) < 5 * SECOND
    assert spans[-1].end - spans[0].start > gap * SECOND


def test_a_thinned_one_has_all_of_them_too(whole: tuple[Path, Read]) -> None:
    path = whole[0].with_name("thinned.gtop")
    path.write_bytes(whole[0].read_bytes())
    for _ in thinned(Segment(path), ()):
        pass
    read = exported(path, "perfetto")
    for rank in range(8):
        assert of_rank(read, rank, "phases") == of_rank(whole[1], rank, "phases")


@needs_torch
def test_the_clock_is_that_of_torch_profiler(tmp_path: Path) -> None:
    script = """
import sys, time, torch
from torch.profiler import profile, record_function, ProfilerActivity
with profile(activities=[ProfilerActivity.CPU]) as taken:
    before = time.time_ns()
    with record_function("here"):
        time.sleep(0.01)
taken.export_chrome_trace(sys.argv[1])
print(before)
"""
    path = tmp_path / "torch.json"
    done = subprocess.run(
        [str(TORCH_PYTHON), "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    trace = json.loads(path.read_text())
    (here,) = [each for each in trace["traceEvents"] if each["name"] == "here"]
    before = int(done.stdout)
    base = before // (BASE_SECONDS * SECOND) * BASE_SECONDS * SECOND
    assert trace["baseTimeNanoseconds"] == base
    assert 0 <= base + here["ts"] * 1000 - before < 0.5 * SECOND


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["nothing", "-o", "x"], 2, "there is no such recording"),
        (["/etc/hostname", "-o", "x"], 2, "is not a gputop recording"),
        (["SOURCE", "-o", "SOURCE"], 2, "File exists; --force replaces it"),
        (["SOURCE", "-o", "no/such/x"], 2, "No such file or directory"),
        (["SOURCE", "-o", "x", "--format", "pftrace"], 64, "perfetto"),
        (["SOURCE", "-o", "x", "--from", "noon"], 64, "is no time"),
        (
            ["SOURCE", "-o", "x", "--from", "2001-01-01T00:00:00Z", "--to", "2001-01-02T00:00:00Z"],
            2,
            "nothing from 2001-01-01",
        ),
        (["SOURCE"], 64, "-o"),
    ],
)
def test_bad_input_gets_one_sentence(
    whole: tuple[Path, Read], words: Sequence[str], code: int, sentence: str, tmp_path: Path
) -> None:
    before = whole[0].read_bytes()
    names = {"SOURCE": str(whole[0]), "x": str(tmp_path / "x")}
    done = run("export", *(names.get(word, word) for word in words))
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert whole[0].read_bytes() == before and list(tmp_path.iterdir()) == []
