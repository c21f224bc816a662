"""A collector that was stopped, or that gets no core, says so and blames no source."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from gputop.probes.collector.collector import Collector
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.sample import Sample
from gputop.probes.wire.codec import Splitter, decode
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine

from nvml.simulated import SimulatedNvml

STOPPED_SECONDS = 8.0
COLLECT = [sys.executable, "-P", "-m", "gputop", "collect", "--interval=0.5"]


@pytest.fixture
def stream() -> Iterator[tuple[subprocess.Popen[bytes], Iterator[Sample]]]:
    with SimulatedNvml("h100x8") as node:
        process = subprocess.Popen(
            COLLECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=node.env(), bufsize=0
        )
        yield process, samples(process)
        process.kill()
        process.communicate()


def samples(process: subprocess.Popen[bytes]) -> Iterator[Sample]:
    assert process.stdout is not None
    splitter = Splitter()
    while data := process.stdout.read(1 << 18):
        for body in splitter.feed(data):
            if isinstance(message := decode(body), Sample):
                yield message


def test_after_a_stop_no_driver_is_blamed_and_the_sample_says_why_it_is_late(
    stream: tuple[subprocess.Popen[bytes], Iterator[Sample]],
) -> None:
    process, coming = stream
    engine, frame = Engine(make_rules()), None
    for _ in range(6):
        frame = derive(frame, next(coming))
        engine.judge(frame)
    process.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    process.send_signal(signal.SIGCONT)
    after: list[Frame] = []
    for _ in range(8):
        frame = derive(frame, next(coming))
        assert not [each for each in engine.judge(frame).findings if each.id == "HW209"]
        after.append(frame)
    told = [frame.starvation for frame in after if frame.starvation is not None]
    assert told and told[0].stopped_seconds > STOPPED_SECONDS - 2
    assert len(after[-1].gpus) == 8
    assert {gpu.status for gpu in after[-1].gpus} == {"ok"}


class Hangs:
    """As a call into a driver that never comes back."""

    name = "nvml gpu 3"
    let_go = threading.Event()

    def read(self) -> tuple[()]:
        self.let_go.wait(30)
        return ()

    def close(self) -> None: ...


def test_what_hangs_has_all_the_time_there_is() -> None:
    collector = Collector("node17", interval_seconds=0.2)
    collector.add(Hangs())
    coming = collector.samples()
    began = time.monotonic()
    sample = next(coming)
    while time.monotonic() - began < 2.0:
        sample = next(coming)
    passed = time.monotonic() - began
    (source,) = sample.sources
    assert source.busy_seconds is not None and source.starved_seconds is not None
    # Beside other tests a part of it may be lost, and no more than that.
    assert source.busy_seconds + source.starved_seconds == pytest.approx(passed, abs=0.5)
    assert source.busy_seconds > 0.5 * passed
    assert source.reason.startswith("no answer for")
    Hangs.let_go.set()
