"""A message that cannot be read costs itself: that is said once, and the next one is shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from gputop.probes.feeds.child import Child, spawned
from gputop.probes.feeds.collector_feed import CollectorFeed
from gputop.probes.feeds.protocol import FeedError, Notice
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.sample import Sample
from gputop.probes.wire.codec import MAGIC, encode

CAT = shutil.which("cat") or "/bin/cat"
HELLO_OF_LATER = {
    "type": "hello",
    "schema_version": 999,
    "program_version": "9",
    "node": "n",
    "pid": 1,
}


def framed(body: bytes) -> bytes:
    return MAGIC + len(body).to_bytes(4, "big") + body


def sample(sequence: int) -> Sample:
    return Sample(time_seconds=1.0, monotonic_seconds=1.0, sequence=sequence, node="n")


def bad(sequence: int) -> bytes:
    gpu = GpuReading(index=0, monotonic_seconds=1.0, memory_used_bytes=3.5)  # type: ignore[arg-type]
    return encode(msgspec.structs.replace(sample(sequence), gpus=(gpu,)))


def heard(tmp_path: Path, stream: bytes) -> tuple[list[object], str]:
    """What the feed makes of a collector that writes ``stream`` and ends, and how it ends itself."""
    file = tmp_path / "stream"
    file.write_bytes(stream)
    feed = CollectorFeed(1.0)
    feed._child.kill()  # its place is taken by a program that says just this
    feed._child.close()
    feed._child = Child(spawned((CAT, str(file))))
    found: list[object] = []
    try:
        found.extend(feed.messages())
    except FeedError as error:
        # A list takes what came before the error, too.
        return found, str(error)
    finally:
        feed.close()
    return found, ""


def test_the_ones_after_it_are_shown_and_it_is_said_once(tmp_path: Path) -> None:
    stream = encode(sample(1)) + bad(2) + framed(b"\xc1") + bad(3) + encode(sample(4))
    messages, end = heard(tmp_path, stream)
    assert [each.sequence for each in messages if isinstance(each, Sample)] == [1, 4]
    (notice,) = [each for each in messages if isinstance(each, Notice)]
    assert "could not be read and is left out" in notice.sentence
    assert "memory_used_bytes" in notice.sentence
    assert end.startswith("the collector ended unexpectedly")


def test_a_collector_of_another_schema_still_ends_it(tmp_path: Path) -> None:
    stream = framed(msgspec.msgpack.encode(HELLO_OF_LATER)) + encode(sample(1))
    messages, end = heard(tmp_path, stream)
    assert messages == [] and "install the same version" in end


def test_bytes_that_are_no_stream_still_end_it(tmp_path: Path) -> None:
    messages, end = heard(tmp_path, encode(sample(1)) + b"no message begins here" * 10)
    assert len(messages) == 1 and "the stream is damaged" in end
