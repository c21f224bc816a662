"""The probe knows what it costs, and lets go of what costs too much or goes wrong."""

from __future__ import annotations

import re

from support.probe_job import job, reading_of
from support.terminal import wait_until

LIMIT = 0.01

BUSY = """
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
        wait_until(lambda: reading_of(running.pid).cost_ratio is not None, 30, "it is reckoned")
        assert (reading_of(running.pid).cost_ratio or 0.0) > LIMIT
        wait_until(lambda: reading_of(running.pid).hooks["gc"] != "on", 30, "the hook goes")
        why = reading_of(running.pid).hooks["gc"]
        assert re.fullmatch(r"off: the probe took \d+\.\d% of the time, this most of it", why)
        wait_until(lambda: (reading_of(running.pid).cost_ratio or 0.0) < LIMIT, 30, "it is cheap")


def test_a_calm_job_keeps_all_hooks() -> None:
    with job(CALM) as running:
        assert running.line() == "in"
        wait_until(lambda: reading_of(running.pid).cost_ratio is not None, 30, "it is reckoned")
        reading = reading_of(running.pid)
    assert (reading.cost_ratio or 0.0) < LIMIT
    assert set(reading.hooks.values()) == {"on"}


def test_a_hook_that_goes_wrong_ends_alone_and_the_job_hears_nothing() -> None:
    with job(BROKEN) as running:
        state = running.line()
        assert state.startswith("TypeError: ")
        assert running.line() == "in"
        reading = reading_of(running.pid)
    assert (reading.phase, reading.hooks) == ("forward", {"gc": state, "control": "on"})
