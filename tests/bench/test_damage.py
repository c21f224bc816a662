"""100,000 corrupt values, messages and pages: no traceback, no end of the program, and nothing else lost.

Run with ``pytest -m bench -s tests/bench/test_damage.py``; ``GPUTOP_DAMAGE`` takes another number. Each part
prints how many there were, how many were refused in one sentence, and how many were read all the same.
"""

from __future__ import annotations

import json
import os
import random
import struct
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from gputop.probes.collector.sound import sound
from gputop.probes.derive.frame import derive
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.sample import Sample
from gputop.probes.simulator import simulate
from gputop.probes.simulator.catalogue import SCENARIOS
from gputop.probes.sources.page.location import PageRefused
from gputop.probes.sources.page.reader import reader_of
from gputop.probes.sources.protocol import SourceError
from gputop.probes.wire.codec import (
    Splitter,
    UnreadableMessage,
    WireError,
    decode,
    decode_command,
    encode,
)
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.commands.once import as_json, as_text
from gputop.tui.session.watch import Watch

from fixtures.pages import SECOND, trained_page
from nvml.simulated import SimulatedNvml
from support.churn import ChurnFeed
from support.damaged_files import SOURCES, made_wild
from support.damaged_pages import check, corrupted
from support.damaged_samples import made_ill, places
from support.nvml_watch import Watch as NvmlWatch

ALL = int(os.environ.get("GPUTOP_DAMAGE", "100000"))
SEED = 20
_JUDGED_EACH = 8
"""Of the messages that can be read: to judge and print one takes as long as to read a hundred."""

pytestmark = pytest.mark.bench


def told(what: str, counts: Counter[str]) -> None:
    print(f"\n{what}: " + ", ".join(f"{number} {word}" for word, number in counts.items()))


def test_messages() -> None:
    """Values of any type anywhere in samples; then bytes of any kind anywhere in the stream."""
    chance = random.Random(SEED)
    counts: Counter[str] = Counter()
    names = sorted(SCENARIOS)
    for name in names:
        first, ill, last = islice(simulate(name, start_time_seconds=1e9, interval_seconds=1.0), 3)
        before = derive(None, first)
        tree = msgspec.msgpack.decode(msgspec.msgpack.encode(ill))
        found = places(tree)
        for number in range(ALL // 4 // len(names)):
            body = made_ill(tree, found, chance)
            counts["samples"] += 1
            try:
                message = decode(body)
            except UnreadableMessage:
                counts["refused"] += 1
                continue
            if isinstance(message, Sample) and number % _JUDGED_EACH == 0:
                counts["judged, printed and drawn"] += 1
                engine = Engine(make_rules())
                engine.judge(before)
                frame = derive(before, message)
                judgement = engine.judge(frame)
                json.loads(as_json(judgement))
                as_text(judgement, Watch(ChurnFeed(0, 1.0, 0), engine), limit=None)
                json.loads(as_json(engine.judge(derive(frame, last))))
                assert engine.broken == {}
    told("messages with values of any type", counts)
    assert counts["judged, printed and drawn"] > counts["samples"] / _JUDGED_EACH / 10


def test_streams() -> None:
    chance = random.Random(SEED)
    counts: Counter[str] = Counter()
    samples = list(islice(simulate("healthy", start_time_seconds=1e9, interval_seconds=1.0), 3))
    whole = b"".join(map(encode, samples))
    for _ in range(ALL // 10):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 8))):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 4))] = chance.randbytes(chance.choice((0, 1, 4)))
        counts["streams"] += 1
        try:
            for body in Splitter().feed(bytes(data)):
                try:
                    decode(body)
                except UnreadableMessage:
                    counts["messages refused"] += 1
                else:
                    counts["messages read"] += 1
                try:
                    decode_command(body[: chance.randrange(200)])
                except WireError:
                    counts["commands refused"] += 1
        except WireError:
            counts["streams given up"] += 1
    told("streams with any bytes", counts)
    assert counts["messages read"] > counts["streams"] / 10


def test_pages(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    counts: Counter[str] = Counter()
    now = time.monotonic_ns()
    whole = trained_page(now, steps=8)
    whole.save(tmp_path)
    for _ in range(ALL // 4):
        data = corrupted(bytearray(whole.data), chance)
        os.pwrite(whole.descriptor, data, 0)
        os.ftruncate(whole.descriptor, len(data))
        counts["pages"] += 1
        try:
            made = reader_of(os.dup(whole.descriptor), whole.owner)
            if made is None:
                counts["not made yet"] += 1
                continue
            try:
                check(made.read(now), now)
                check(made.read(now + SECOND), now + SECOND)
                counts["read"] += 1
            finally:
                made.close()
        except PageRefused as refusal:
            counts["refused"] += 1
            assert "\n" not in str(refusal)
    whole.let_go()
    told("pages with any bytes", counts)
    assert counts["read"] > 0 < counts["refused"]


def test_values_of_files(tmp_path: Path) -> None:
    """Of ``/proc`` and ``/sys``."""
    chance = random.Random(SEED)
    counts: Counter[str] = Counter()
    for name, (make, source) in SOURCES.items():
        root = tmp_path / name
        root.mkdir()
        make(root)
        files = [
            each for each in sorted(root.rglob("*")) if each.is_file() and not each.is_symlink()
        ]
        while counts["values"] < ALL // 5 * (1 + list(SOURCES).index(name)) // len(SOURCES):
            changed = {file: file.read_bytes() for file in chance.sample(files, min(3, len(files)))}
            for file, content in changed.items():
                file.write_bytes(made_wild(content, chance))
            counts["values"] += len(changed)
            reader = source(root)
            try:
                parts = reader.read()
                assert sound(parts) == (tuple(parts), "")
                counts["readings"] += len(parts)
            except SourceError:
                counts["sources that say why not"] += 1
            reader.close()
            for file, content in changed.items():
                file.write_bytes(content)
    told("values of files", counts)
    assert counts["readings"] > 0


def test_values_of_the_driver() -> None:
    """Of any type, with any bytes, in every field that is asked for."""
    chance = random.Random(SEED)
    counts: Counter[str] = Counter()
    words = [0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
    words += [
        struct.unpack("Q", struct.pack("d", number))[0]
        for number in (-1.0, 1e308, float("inf"), float("nan"))
    ]
    decoder = msgspec.msgpack.Decoder(GpuReading)
    with SimulatedNvml("h100x8") as node, NvmlWatch(node.env()) as watch:
        watch.tick()
        fields = [*range(1, 320)]
        while counts["values"] < ALL // 5:
            keys: dict[str, str | int | float | bool] = {}
            for gpu in range(8):
                for field in chance.sample(fields, 40):
                    word = chance.choice([*words, chance.getrandbits(64)])
                    keys[f"gpu.{gpu}.field.{field}.raw"] = hex(word)
                    keys[f"gpu.{gpu}.field.{field}.type"] = chance.choice([*range(8), 99, 2**31])
                    counts["values"] += 1
            node.set(keys)
            tick = watch.tick(advance=31)
            node.unset(*keys)
            assert len(tick.gpus) == 8
            for reading in tick.gpus:
                assert decoder.decode(msgspec.msgpack.encode(reading)) == reading
                assert reading.utilization_ratio is not None
                counts["readings"] += 1
                counts["values that are missing, with a reason"] += len(reading.missing)
    told("values of the driver", counts)
