"""What is written is read again, exactly; and what is damaged costs its own block and no other."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gputop.probes.model.sample import WIRE_SCHEMA_VERSION, Sample
from gputop.probes.recording import format
from gputop.probes.recording.cursor import Cursor
from gputop.probes.recording.errors import RecordingError
from gputop.probes.recording.recording import Recording

from support.recordings import START, mark, samples, write_blocks

PER_BLOCK = 4
COUNT = 24


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run-20261031T140731Z-000.gtop"


@pytest.fixture
def small() -> tuple[Sample, ...]:
    """A few short samples: damage is tried a thousand times."""
    return tuple(
        replace(sample, gpus=sample.gpus[:1], processes=sample.processes[:3], probes=sample.probes[:1],
                ports=(), placements=(), threads=(), topology=None, gpu_paths=None, sources=())
        for sample in samples(COUNT)
    )  # fmt: skip


def read(path: Path) -> list[Sample]:
    with Recording(path) as recording:
        return [kept.sample for kept in recording.kept()]


def test_all_that_was_written_is_read(path: Path) -> None:
    written = samples(25)
    write_blocks(path, written)
    assert read(path) == list(written)


def test_what_comes_goes_and_changes_its_order_is_read(path: Path) -> None:
    first, second, third, *_ = samples(3)
    written = [
        first,
        replace(second, processes=second.processes[::-1], gpus=second.gpus[1:]),
        replace(third, processes=(), host=None, topology=None, boot_id="b"),
        replace(third, processes=third.processes[:2] * 2, interval_seconds=5.0),
        replace(first, gpus=(), probes=()),
    ]
    write_blocks(path, written)
    assert read(path) == written


def test_of_texts_that_never_change_a_block_holds_one(path: Path) -> None:
    one = samples(1)[0]
    write_blocks(path, [one])
    alone = path.stat().st_size
    write_blocks(path, [replace(one, sequence=number) for number in range(10)])
    assert path.stat().st_size < 1.1 * alone


def test_findings_are_read_as_they_were_judged(path: Path) -> None:
    first, second = mark("HW201"), mark("HST102", "pending")
    marks = [(), (first,), (first,), (first, second), (second,), (second,)]
    write_blocks(path, samples(6), per_block=4, marks=marks)
    with Recording(path) as recording:
        assert [kept.marks for kept in recording.kept()] == marks
        told = [(event.state, event.id, event.time_seconds) for event in recording.events]
    assert told == [("active", "HW201", START + 1), ("cleared", "HW201", START + 4)]


def test_a_span_of_time_is_read_alone(path: Path) -> None:
    written = samples(25)
    write_blocks(path, written)
    with Recording(path) as recording:
        found = [kept.sample for kept in recording.kept(START + 8, START + 12)]
    assert found == list(written[8:13])


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(-100.0, 0), (0.0, 0), (0.4, 0), (9.9, 9), (10.0, 10), (17.2, 17), (24.0, 24), (1e9, 24)],
)
def test_a_cursor_goes_to_any_time(path: Path, seconds: float, number: int) -> None:
    written = samples(25)
    write_blocks(path, written)
    with Recording(path) as recording:
        cursor = Cursor(recording)
        for kept, wanted in (
            (cursor.seek(START + seconds), number),
            (cursor.here(), number),
            (cursor.on(), number + 1),
        ):
            assert (kept and kept.sample) == (written[wanted] if wanted < 25 else None)
        cursor.seek(START + seconds)
        back = cursor.back()
        assert (back and back.sample) == (written[number - 1] if number else None)


def test_a_cursor_passes_over_damage_in_both_directions(path: Path) -> None:
    written = samples(30)
    blocks = write_blocks(path, written)
    damage(path, len(blocks[0]) + len(blocks[1]) - 9)
    with Recording(path) as recording:
        cursor = Cursor(recording)
        for seek in (15.0, 9.0):
            found = cursor.seek(START + seek)
            assert found is not None and found.sample == written[9]
        after = cursor.on()
        assert after is not None and after.sample == written[20]
        before = cursor.back()
        assert before is not None and before.sample == written[9]


def test_a_clock_that_was_set_back_hides_nothing(path: Path) -> None:
    written = [
        replace(sample, time_seconds=sample.time_seconds - (100 if number >= 10 else 0))
        for number, sample in enumerate(samples(20))
    ]
    write_blocks(path, written)
    assert read(path) == written
    with Recording(path) as recording:
        found = Cursor(recording).seek(START - 85)
        assert found is not None and found.sample == written[15]


def damage(path: Path, position: int, bit: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << bit
    path.write_bytes(data)


def hit(blocks: list[bytes], position: int) -> int:
    """The number of the block in which that byte lies."""
    for number, each in enumerate(blocks):
        position -= len(each)
        if position < 0:
            return number
    return len(blocks)


def without(written: tuple[Sample, ...], *lost: int) -> list[Sample]:
    return [each for number, each in enumerate(written) if number // PER_BLOCK not in lost]


def read_or_refused(path: Path) -> list[Sample]:
    try:
        return read(path)
    except RecordingError as error:
        assert "\n" not in str(error)
        return []


def tries(default: int) -> int:
    return int(os.environ.get("GPUTOP_DAMAGE_TRIES", default))


def test_a_flipped_bit_costs_its_block_and_no_other(path: Path, small: tuple[Sample, ...]) -> None:
    blocks = write_blocks(path, small, PER_BLOCK)
    whole = path.read_bytes()
    heads = [sum(map(len, blocks[:number])) + byte for number in range(3) for byte in range(60)]
    chance = random.Random(15)
    for position in [*heads, *(chance.randrange(len(whole)) for _ in range(tries(300)))]:
        path.write_bytes(whole)
        damage(path, position, chance.randrange(8))
        assert read(path) == without(small, hit(blocks, position)), position


def test_what_was_cut_off_costs_its_block_and_no_other(
    path: Path, small: tuple[Sample, ...]
) -> None:
    blocks = write_blocks(path, small, PER_BLOCK)
    whole = path.read_bytes()
    chance = random.Random(16)
    for length in [*range(60), *(chance.randrange(len(whole)) for _ in range(tries(200)))]:
        path.write_bytes(whole[:length])
        whole_blocks = hit(blocks, length)
        assert read_or_refused(path) == list(small[: whole_blocks * PER_BLOCK]), length


def test_bytes_that_went_missing_or_came_cost_the_blocks_that_they_hit(
    path: Path, small: tuple[Sample, ...]
) -> None:
    blocks = write_blocks(path, small, PER_BLOCK)
    whole = path.read_bytes()
    chance = random.Random(17)
    for _ in range(tries(200)):
        begin = chance.randrange(len(whole))
        end = min(len(whole), begin + chance.randrange(1, 3 * len(blocks[0])))
        path.write_bytes(whole[:begin] + whole[end:])
        lost = range(hit(blocks, begin), hit(blocks, end - 1) + 1)
        assert read_or_refused(path) == without(small, *lost), (begin, end)
        path.write_bytes(whole[:begin] + chance.randbytes(end - begin) + whole[begin:])
        at_edge = begin in [sum(map(len, blocks[:number])) for number in range(len(blocks))]
        assert read(path) == without(small, *(() if at_edge else (hit(blocks, begin),))), begin


@given(st.binary(max_size=400))
def test_what_is_no_recording_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gtop"
    path.write_bytes(data)
    said = "is not a gputop recording" if data else "is empty"
    if data.startswith(format.MAGIC):
        said = "has no whole block"
    with pytest.raises(RecordingError, match=said):
        Recording(path)


def test_hostile_data_with_right_checksums_is_left_out(path: Path) -> None:
    """Anyone can compute a checksum."""
    from gputop.probes.recording.compression import compress

    good, *_ = write_blocks(path, samples(3))
    head = format.Head(
        schema_version=WIRE_SCHEMA_VERSION, program_version="1", node=samples(1)[0].node
    )
    packed = b""
    for plain in (
        b"",
        b"\xc1",
        b"\x94\x91\x01\x80\x90\x90",
        b"\x91" * 3000,
        b"\x94\x92\x01\x02\x80\x91\x92\x80\x81\xa1x\x91\x07\x90",
    ):
        for size in (len(plain), 10**6):
            packed += format.pack(
                head, compress(plain), plain_bytes=size, samples=1, first_seconds=START,
                last_seconds=START, thinned=False,
            )  # fmt: skip
    path.write_bytes(good + packed + good)
    with Recording(path) as recording:
        assert [kept.sample for kept in recording.kept()] == [*samples(3), *samples(3)]
        assert recording.damaged_blocks == 10
        assert recording.damage() == f"{path.stem} is damaged: 10 blocks left out"


def newer(data: bytes) -> bytes:
    """The same block as a later program would write it."""
    said = format.announced(data)
    assert said is not None
    prefix, body = data[: format.PREFIX_BYTES - 4], data[format.PREFIX_BYTES :]
    head = body[: said.head_bytes].replace(
        b"schema_version" + bytes([WIRE_SCHEMA_VERSION]),
        b"schema_version" + bytes([WIRE_SCHEMA_VERSION + 1]),
    )
    rest = body[said.head_bytes :]
    prefix = prefix[:20] + struct.pack(">I", crc32(rest, crc32(head))) + prefix[24:]
    return prefix + struct.pack(">I", crc32(head, crc32(prefix))) + head + rest


def test_a_newer_schema_is_refused_in_one_sentence(path: Path) -> None:
    (written,) = write_blocks(path, samples(3))
    path.write_bytes(written + newer(written))
    with pytest.raises(
        RecordingError, match=r"in schema 3, which is newer than this one's 2: update gputop"
    ):
        Recording(path)


@pytest.fixture
def odd_places(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "begun").write_bytes(format.MAGIC)
    yield tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "is a directory; name a recording in it"),
        ("pipe", "is not a regular file"),
        ("empty", "is empty"),
        ("text", "is not a gputop recording"),
        ("loop", "cannot be opened: too many levels of symbolic links"),
        ("begun", "has no whole block"),
        ("nothing", "nor a segment of one with that name"),
        ("no/where", "there is no recording .*no/where"),
        ("text/x", "there is no recording"),
        ("x" * 300, "cannot be opened: file name too long"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(
    odd_places: Path, name: str, said: str
) -> None:
    with pytest.raises(RecordingError, match=said):
        Recording(odd_places / name)


def test_segments_are_read_in_their_order_by_the_name_of_the_recording(tmp_path: Path) -> None:
    written = samples(30)
    for number in (2, 0, 1):
        part = written[number * 10 : number * 10 + 10]
        write_blocks(tmp_path / f"run-20261031T0{number}0000Z-{number:03d}.gtop", part)
    write_blocks(tmp_path / "run-2-20261031T000000Z-000.gtop", written[:5])
    (tmp_path / "run-20261031T000000Z-000.gtop.tmp").write_text("other")
    with Recording(tmp_path / "run") as recording:
        assert [kept.sample for kept in recording.kept()] == list(written)
        assert recording.title == "run"


def test_a_folder_of_the_same_name_hides_no_recording(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write_blocks(tmp_path / "run-20261031T000000Z-000.gtop", samples(3))
    assert read(tmp_path / "run") == list(samples(3))


def test_a_name_that_two_nodes_have_used_is_refused(tmp_path: Path) -> None:
    other = [replace(sample, node="elsewhere") for sample in samples(3)]
    write_blocks(tmp_path / "run-20261031T000000Z-000.gtop", samples(3))
    write_blocks(tmp_path / "run-20261031T010000Z-001.gtop", other)
    with pytest.raises(RecordingError, match=r"different nodes \(.*elsewhere\)"):
        Recording(tmp_path / "run")


def test_damage_found_late_is_told(path: Path) -> None:
    blocks = write_blocks(path, samples(30))
    damage(path, len(blocks[0]) - 5)
    with path.open("ab") as file:
        file.write(blocks[0][:1000])
    with Recording(path) as recording:
        assert sum(1 for _ in recording.kept()) == 20
        assert recording.damage() == (
            f"{path.stem} is damaged: 1 block and 1000 bytes that are no whole block left out"
        )


def test_a_block_decodes_alone(path: Path) -> None:
    written = samples(30)
    blocks = write_blocks(path, written)
    path.write_bytes(blocks[1])
    assert read(path) == list(written[10:20])
