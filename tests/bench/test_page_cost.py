"""What reading the state pages of eight ranks costs the collector, each tick.

Run with ``pytest -m bench -s tests/bench/test_page_cost.py``.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from statistics import median

import pytest

from gputop.probes.model.sample import Sample
from gputop.probes.sources.page.source import ProbeSource
from gputop.probes.sources.watchlist import Watchlist
from gputop.probes.wire.codec import encode

from support.probe_job import job

RANKS = 8
TICKS = 30
TARGET_SECONDS = 0.0015
SHORT_TARGET_SECONDS = 0.005
"""At steps of 10 ms."""
SLACK = 5
"""A test fails only this far beyond its target, for these machines are noisy; the figure is printed."""

TRAINS = """
track = gputop.active().track()
def phase(code, seconds):
    depth = track.enter(code)
    time.sleep(seconds)
    track.leave(depth)
say("in")
while True:
    for code, share in ((2, 0.05), (4, 0.3), (5, 0.5), (6, 0.05), (7, 0.1)):
        phase(code, share * {seconds})
    gputop.step(samples=32)
"""

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("step_seconds", [0.5, 0.01])
def test_cost_of_a_tick(step_seconds: float) -> None:
    watchlist = Watchlist()
    with ExitStack() as stack:
        running = [
            stack.enter_context(job(TRAINS.replace("{seconds}", str(step_seconds)), RANK=str(rank)))
            for rank in range(RANKS)
        ]
        for each in running:
            assert each.line() == "in"
        watchlist.set_gpu(0, [each.pid for each in running])
        source = stack.enter_context(closing(ProbeSource(watchlist)))
        time.sleep(3)
        began = time.thread_time()
        source.read()
        first = time.thread_time() - began
        source.read()  # tells the whole past once more
        spent: list[float] = []
        sizes: list[int] = []
        pages: list[int] = []
        for _ in range(TICKS):
            time.sleep(1)
            began = time.thread_time()
            probes = source.read()
            spent.append(time.thread_time() - began)
            pages.append(len(probes))
            assert len(probes) >= RANKS  # there may be others on this machine
            sample = Sample(time_seconds=0, monotonic_seconds=0, sequence=0, node="", probes=probes)
            sizes.append(len(encode(sample)))
    print(
        f"\n{RANKS} ranks ({median(pages):g} pages), steps of {step_seconds:g} s: {median(spent) * 1e3:.2f} ms of CPU a tick "
        f"(target {TARGET_SECONDS * 1e3:g} at steps of half a second, {SHORT_TARGET_SECONDS * 1e3:g} at 10 ms), highest {max(spent) * 1e3:.2f}, "
        f"first {first * 1e3:.1f}; {median(sizes) / 1024:.0f} KiB a sample"
    )
    target = TARGET_SECONDS if step_seconds >= 0.5 else SHORT_TARGET_SECONDS
    assert median(spent) < target * SLACK
