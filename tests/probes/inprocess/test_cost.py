"""The probe knows what it costs, and lets go of what costs too much or goes wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, cast

from gputop.probes.inprocess.cost import Cost
from gputop.probes.inprocess.instrument import ON, Instrument
from gputop.probes.inprocess.timing import CALLS

from support.probe_job import job, reading_of
from support.terminal import wait_until

if TYPE_CHECKING:
    from gputop.probes.inprocess.probe import Probe

LIMIT = 0.01

SOON = """
from inprocess import cost
cost.WINDOW_SECONDS = 1.5
"""
"""Costs are reckoned more often, so that a test need not wait for it."""
BUSY = f"""{SOON}
import gc
say("in")
while True:  # each collection calls the hook twice, and takes next to no time itself
    gc.collect(0)
"""
CALM = """
say("in")
while True:
    with gputop.phase("forward"):
        time.sleep(0.01)
    gputop.step()
"""
BROKEN = """
import gc
gputop.active().known_track = None  # as if what it is made of were another version
gc.collect()
say(gputop.active().instruments["gc"].state)
gc.collect()
with gputop.phase("forward"):
    say("in")
    time.sleep(60)
"""


def test_a_hook_that_costs_too_much_goes_and_says_why() -> None:
    with job(BUSY) as running:
        assert running.line() == "in"
        wait_until(lambda: reading_of(running.pid).overhead_ratio is not None, 30, "it is reckoned")
        assert (reading_of(running.pid).overhead_ratio or 0.0) > LIMIT
        wait_until(lambda: reading_of(running.pid).instruments["gc"] != "on", 30, "the hook goes")
        why = reading_of(running.pid).instruments["gc"]
        assert re.fullmatch(
            r"off: the probe took \d+\.\d% of the time, this most of it; tried again after 60 s",
            why,
        )
        wait_until(
            lambda: (reading_of(running.pid).overhead_ratio or 0.0) < LIMIT, 30, "it is cheap"
        )


AGAIN = """
import gc
from inprocess import cost
cost.RETRY_SECONDS, cost.WINDOW_SECONDS = 2.0, 1.0
gc_hook = gputop.active().instruments["gc"]
say("in")
seen = []
while True:
    state = gc_hook.state
    if not seen or seen[-1] != state:
        seen.append(state)
        say(state.partition(":")[0], state.rpartition(" after ")[2])
    if len(seen) > 3:
        time.sleep(0.01)  # it is cheap from now on
    else:
        gc.collect(0)
"""


def test_a_hook_that_went_off_is_tried_again_and_later_each_time() -> None:
    with job(AGAIN) as running:
        assert running.line() == "in"
        assert [running.line() for _ in range(5)] == [
            "on on",
            "off 2 s",
            "on on",
            "off 4 s",
            "on on",
        ]
        time.sleep(4)
        assert reading_of(running.pid).instruments["gc"] == "on", "it is cheap now"


STEPPING = (
    SOON
    + """
import gc
say("in")
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    for _ in range(5):
        gc.collect(0)
    with gputop.phase("forward"):
        time.sleep(0.01)
    gputop.step()
say("done")
time.sleep(60)
"""
)


def test_a_job_that_is_stopped_again_and_again_keeps_all_hooks() -> None:
    """Each stop falls into some batch: the processor time of its calls is none the longer."""
    with job(STEPPING.format(seconds=6)) as running:
        assert running.line() == "in"
        end = time.monotonic() + 5
        while time.monotonic() < end:
            os.kill(running.pid, signal.SIGSTOP)
            time.sleep(0.02)
            os.kill(running.pid, signal.SIGCONT)
            time.sleep(0.005)
        assert running.line() == "done"
        reading = reading_of(running.pid)
    assert set(reading.instruments.values()) == {"on"}
    assert 0 < (reading.overhead_ratio or 0.0) < LIMIT


def test_a_job_beside_busy_neighbors_keeps_all_hooks() -> None:
    busy = [
        subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
        for _ in range(6)
    ]
    try:
        with job(STEPPING.format(seconds=5), before=("taskset", "-c", "0")) as running:
            assert running.line() == "in"
            assert running.line() == "done"
            reading = reading_of(running.pid)
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert set(reading.instruments.values()) == {"on"}
    assert (reading.overhead_ratio or 0.0) < LIMIT


class Made(Instrument):
    """An instrument of which only the figures matter."""

    def __init__(self, name: str, counts_steps: int = 0) -> None:
        self.name, self.counts_steps = name, counts_steps
        self.calls, self.timing, self.state = 0, None, ON
        self.stopped: list[str] = []

    def start(self) -> None:
        self.state = ON

    def stop(self, reason: str) -> None:
        self.state = reason


class Figures:
    """What `Cost` needs of a probe."""

    def __init__(self, *instruments: Made) -> None:
        self.instruments = {each.name: each for each in instruments}


def spend(cost: Cost, *calls: tuple[Made, int, list[int]], seconds: int = 20) -> None:
    """So many seconds, in each of which an instrument is called so often, and its calls take so long."""
    for second in range(seconds):
        cost._began -= 10**9
        for made, count, spent in calls:
            made.calls += count
            for _ in range(CALLS):
                if made.timing is not None:
                    made.timing.add(spent[second % len(spent)] + cost._reading)
        cost.look()


def of(*instruments: Made) -> Cost:
    cost = Cost(cast("Probe", Figures(*instruments)))
    cost.look()
    return cost


def test_one_cheap_batch_among_dear_ones_keeps_an_instrument() -> None:
    made = Made("one")
    cost = of(made)
    spend(cost, (made, 1000, [90_000] * 6 + [2_000]))
    assert made.state == ON
    assert (cost.look() or 0.0) > LIMIT, "what is told is the median all the same"
    spend(cost, (made, 1000, [90_000]))
    assert made.state != ON


def test_what_counts_steps_is_the_last_to_go() -> None:
    cheap, dear = Made("gc"), Made("comm")
    forward, optimizer = Made("forward", 2), Made("optimizer", 3)
    cost = of(cheap, dear, forward, optimizer)
    every = [(forward, 100, [300_000]), (optimizer, 100, [900_000]), (cheap, 10, [100])]
    gone: list[str] = []
    for _ in range(6):
        spend(cost, (dear, 100, [20_000]), *every, seconds=12)
        gone += [
            name
            for name, each in cost._probe.instruments.items()
            if each.state != ON and name not in gone
        ]
    assert gone == ["comm", "forward", "optimizer"], "gc takes nothing worth a word"


def test_a_calm_job_keeps_all_hooks() -> None:
    with job(CALM) as running:
        assert running.line() == "in"
        wait_until(lambda: reading_of(running.pid).overhead_ratio is not None, 30, "it is reckoned")
        reading = reading_of(running.pid)
    assert (reading.overhead_ratio or 0.0) < LIMIT
    assert set(reading.instruments.values()) == {"on"}


def test_a_hook_that_goes_wrong_ends_alone_and_the_job_hears_nothing() -> None:
    with job(BROKEN) as running:
        state = running.line()
        assert state.startswith("TypeError: ")
        assert running.line() == "in"
        reading = reading_of(running.pid)
    assert (reading.phase, reading.instruments) == ("forward", {"gc": state, "control": "on"})
