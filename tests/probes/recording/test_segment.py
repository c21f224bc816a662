"""Blocks that decode alone: whatever happens to the file, at most the block that was hit is lost."""

from __future__ import annotations

import os
import random
from pathlib import Path
from zlib import crc32

import msgspec
import pytest

from gputop.probes.model.sample import WIRE_SCHEMA_VERSION, Sample
from gputop.probes.recording import block as blocks
from gputop.probes.recording.block import BadBlock, NewerSchema
from gputop.probes.recording.recording import Recording
from gputop.probes.recording.segment import RecordingError, Segment, SegmentWriter
from gputop.probes.recording.zstd import compress, decompress

from support.recordings import BEGAN, NOTE, samples, small_samples, written, written_of

DAMAGES = int(os.environ.get("GPUTOP_DAMAGES", "0"))
"""Of each kind; the benchmarks try ten thousand."""
FIXTURES = Path(__file__).parents[2] / "fixtures/recordings"


def read(path: Path) -> list[Sample]:
    return list(Recording(path).samples(0.0, 1e12))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop")
    assert read(path) == list(samples())
    recording = Recording(path)
    assert (recording.count, recording.node) == (60, "node17")
    assert (recording.first_seconds, recording.last_seconds) == (BEGAN, BEGAN + 59)
    assert list(recording.marks()) == [NOTE]
    assert recording.unreadable == []


def test_any_span_of_it(tmp_path: Path) -> None:
    recording = Recording(written(tmp_path / "r.gtop"))
    for start, end in [(0, 5), (9.5, 10.5), (33, 33), (55, 900), (-9, 2)]:
        found = [
            each.time_seconds - BEGAN for each in recording.samples(BEGAN + start, BEGAN + end)
        ]
        assert found == [second for second in range(60) if start <= second <= end]


def test_a_file_is_private_and_replaces_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop")
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RecordingError, match="File exists"):
        SegmentWriter(path)
    (tmp_path / "link.gtop").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordingError):
        SegmentWriter(tmp_path / "link.gtop")
    assert not (tmp_path / "elsewhere").exists()


def test_every_truncation_leaves_the_blocks_before_it(tmp_path: Path) -> None:
    whole = written(tmp_path / "r.gtop").read_bytes()
    places = Segment(tmp_path / "r.gtop").places
    ends = [place.offset for place in places[1:]] + [len(whole)]
    cut = tmp_path / "cut.gtop"
    random.seed(5)
    for size in sorted(
        {*random.sample(range(len(whole)), DAMAGES or 60), *ends, *(end - 1 for end in ends)}
    ):
        cut.write_bytes(whole[:size])
        complete = sum(end <= size for end in ends)
        if not complete:
            with pytest.raises(RecordingError, match="is not a gputop recording"):
                Segment(cut)
            continue
        segment = Segment(cut)
        assert segment.places == places[:complete]
        assert segment.damaged == (size not in ends)


def test_a_flipped_bit_costs_at_most_its_block(tmp_path: Path) -> None:
    expected = list(small_samples(step=5))
    whole = bytearray(written_of(tmp_path / "r.gtop", expected).read_bytes())
    places = Segment(tmp_path / "r.gtop").places
    ends = [place.offset for place in places[1:]] + [len(whole)]
    path = tmp_path / "flipped.gtop"
    numbers = random.Random(7)
    heads = [place.offset + at for place in places for at in range(24)]
    for _ in range(DAMAGES or 300):
        at = numbers.choice(heads) if numbers.random() < 0.4 else numbers.randrange(len(whole))
        bit = 1 << numbers.randrange(8)
        whole[at] ^= bit
        path.write_bytes(whole)
        whole[at] ^= bit
        hit = next(number for number, end in enumerate(ends) if at < end)
        found = read(path)
        lost = places[hit].head
        kept = [
            each
            for each in expected
            if not lost.first_seconds <= each.time_seconds <= lost.last_seconds
        ]
        assert found == kept


def test_garbage_between_blocks_is_skipped(tmp_path: Path) -> None:
    whole = written(tmp_path / "r.gtop").read_bytes()
    place = Segment(tmp_path / "r.gtop").places[2]
    path = tmp_path / "g.gtop"
    path.write_bytes(
        b"#!/bin/sh\n" + whole[: place.offset] + os.urandom(70_000) + whole[place.offset :]
    )
    assert read(path) == list(samples())
    assert "2 damaged places left out" in Recording(path).unreadable[0]


def test_a_newer_schema_is_told_and_not_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "WIRE_SCHEMA_VERSION", WIRE_SCHEMA_VERSION + 1)
    path = written(tmp_path / "r.gtop")
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="install that version"):
        read(path)
    assert issubclass(NewerSchema, Exception)


def test_what_is_no_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("no\n" * 1000)
    for name, why in [
        ("fifo", "not a regular file"),
        ("empty", "it is empty"),
        ("text", "no block"),
        (".", "Is a directory"),
        ("nothing", "there is no such recording"),
    ]:
        with pytest.raises(RecordingError, match=why):
            Recording(tmp_path / name)


@pytest.mark.parametrize("file", sorted(FIXTURES.glob("*.gtop")), ids=lambda file: file.stem)
def test_recordings_of_every_version_open(file: Path) -> None:
    """One of each schema stays for good."""
    found = read(file)
    assert len(found) == 12
    assert found[0].gpus[3].uuid and found[-1].probes[0].phase


def test_there_is_one_of_this_version() -> None:
    assert (FIXTURES / f"schema{WIRE_SCHEMA_VERSION}.gtop").exists()


def test_a_segment_of_another_name_is_not_of_this_recording(tmp_path: Path) -> None:
    for name in (
        "run-20261130T220000Z-000",
        "run-20261130T230000Z-000",
        "run-2-20261130T220000Z-000",
    ):
        written(tmp_path / f"{name}.gtop", 5)
    assert Recording(tmp_path / "run").count == 10
    assert Recording(tmp_path / "run-2").count == 5


def test_a_head_costs_no_data(tmp_path: Path) -> None:
    head = Segment(written(tmp_path / "r.gtop")).places[0].head
    assert msgspec.structs.asdict(head) == {
        "schema": WIRE_SCHEMA_VERSION,
        "program": head.program,
        "node": "node17",
        "boot_id": samples()[0].boot_id,
        "count": 10,
        "first_seconds": BEGAN,
        "last_seconds": BEGAN + 9,
        "thinned": False,
        "differences": True,
        "marks": (),
    }


def test_bytes_that_went_missing_cost_the_blocks_that_they_hit(tmp_path: Path) -> None:
    """The next block begins inside of where the one before should have ended."""
    whole = written_of(tmp_path / "r.gtop", small_samples(step=5)).read_bytes()
    places = Segment(tmp_path / "r.gtop").places
    numbers = random.Random(11)
    path = tmp_path / "short.gtop"
    for _ in range(DAMAGES or 100):
        begin = numbers.randrange(len(whole))
        end = min(len(whole), begin + numbers.randrange(1, 2 * places[0].end))
        path.write_bytes(whole[:begin] + whole[end:])
        hit = [place.head for place in places if place.offset < end and begin < place.end]
        if len(hit) == len(places):
            continue
        kept = [
            each
            for each in small_samples(step=5)
            if not any(h.first_seconds <= each.time_seconds <= h.last_seconds for h in hit)
        ]
        assert read(path) == kept, (begin, end)


def test_findings_are_known_without_their_data(tmp_path: Path) -> None:
    path = written(tmp_path / "r.gtop")
    data = bytearray(path.read_bytes())
    for place in Segment(path).places:
        data[place.end - 1] ^= 1
    path.write_bytes(data)
    assert list(Recording(path).marks()) == [NOTE]


def test_more_findings_than_a_head_holds_are_in_the_data(tmp_path: Path) -> None:
    many = [msgspec.structs.replace(NOTE, name=f"{n} {'x' * 500}") for n in range(200)]
    path = tmp_path / "r.gtop"
    writer = SegmentWriter(path)
    writer.append(blocks.encode([*samples(3), *many]))
    writer.close()
    assert Segment(path).places[0].head.marks is None
    assert list(Recording(path).marks()) == many


def test_files_of_two_nodes_are_not_shown_as_one(tmp_path: Path) -> None:
    written(tmp_path / "run-20261130T220000Z-000.gtop", 5)
    writer = SegmentWriter(tmp_path / "run-20261130T230000Z-000.gtop")
    writer.append(blocks.encode([msgspec.structs.replace(samples()[0], node="other")]))
    writer.close()
    with pytest.raises(RecordingError, match=r"several nodes \(node17, other\): name one file"):
        Recording(tmp_path / "run")
    assert Recording(tmp_path / "run-20261130T230000Z-000.gtop").node == "other"


def test_a_folder_of_the_same_name_hides_no_recording(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    written(tmp_path / "run-20261130T220000Z-000.gtop", 5)
    assert Recording(tmp_path / "run").count == 5


def test_what_is_forged_is_no_worse_than_what_is_damaged() -> None:
    """Its checksums are right, and what is in it is not what any program of ours writes."""
    made = blocks.encode([*small_samples(8), NOTE])
    _, head_bytes, data_bytes, data_crc, head_crc = blocks.FRAME.unpack_from(made)
    at = blocks.FRAME.size + head_bytes
    head = blocks.decode_head(made[blocks.FRAME.size : at], data_bytes, data_crc, head_crc)
    plain = decompress(made[at:])
    numbers = random.Random(3)
    bad = 0
    for _ in range(DAMAGES or 300):
        forged = bytearray(plain)
        place = numbers.randrange(min(len(forged), 3000))
        match numbers.randrange(3):
            case 0:
                forged[place] = numbers.randrange(256)
            case 1:
                del forged[place : place + numbers.randrange(1, 5)]
            case _:
                forged[place:place] = numbers.randbytes(2)
        data = compress(bytes(forged))
        try:
            blocks.decode(head, crc32(data), data)
        except BadBlock:
            bad += 1
    assert bad > (DAMAGES or 300) / 2
