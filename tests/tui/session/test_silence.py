"""For how long nothing has come: never the time in which this monitor was stopped, or was not run."""

from __future__ import annotations

import os
import time

import pytest

from gputop.probes.model.starvation import Starvation
from gputop.tui.session.silence import Silence
from gputop.tui.session.viewer import Reader

from support.clock import Clock
from support.ready_process import SLEEPS, SPINS, python
from support.starving import crowded_core, on_core
from support.tui_watch import StillWatch, changed, judgement


def silence(clock: Clock, *pids: int) -> Silence:
    return Silence(lambda: pids, clock)


def pass_by(silent: Silence, clock: Clock, looks: int, seconds: float = 1.0) -> None:
    for _ in range(looks):
        clock.now += seconds
        silent.look(1.0, late_after=2.5)


def test_who_looks_in_time_counts_all_of_it() -> None:
    clock = Clock()
    silent = silence(clock)
    pass_by(silent, clock, 7)
    assert silent.seconds == 7.0
    silent.came()
    assert silent.seconds == 0.0


@pytest.mark.parametrize("stopped", [30.0, 3600.0])
def test_after_it_was_stopped_silence_counts_from_then_on(stopped: float) -> None:
    clock = Clock()
    silent = silence(clock)
    pass_by(silent, clock, 2)
    clock.now += stopped
    silent.look(1.0, late_after=2.5)
    assert silent.seconds == 3.0
    pass_by(silent, clock, 4)
    assert silent.seconds == 7.0


def test_what_came_after_it_was_stopped_is_no_loss() -> None:
    clock = Clock()
    silent = silence(clock)
    clock.now += 100
    silent.came()
    clock.now += 0.5
    silent.look(1.0, late_after=2.5)
    pass_by(silent, clock, 4)
    assert silent.seconds == pytest.approx(4.5)


def looks(silent: Silence, count: int) -> None:
    for _ in range(count):
        time.sleep(0.3)
        silent.look(0.3, late_after=0.2)


def test_a_collector_that_gets_no_core_is_why() -> None:
    with crowded_core(8) as core, python(SPINS, *on_core(core)) as pid:
        silent = Silence(lambda: (pid,))
        looks(silent, 8)
        assert silent.why.startswith("this monitor gets no CPU (load ")


def test_one_that_sleeps_has_no_such_excuse() -> None:
    with python(SLEEPS) as pid:
        silent = Silence(lambda: (pid,))
        looks(silent, 5)
        assert silent.why == ""
        assert silent.seconds > 1.0


def read(clock: Clock, starvation: Starvation | None = None) -> Reader:
    reader = Reader(StillWatch(judgement()), clock)
    reader.take(changed(judgement(), starvation=starvation))
    return reader


def test_the_bottom_line_after_a_stop_says_nothing_of_a_silent_collector() -> None:
    clock = Clock()
    reader = read(clock)
    clock.now += 120
    reader.look(1.0)
    assert reader.standing() == ""
    for _ in range(8):
        clock.now += 1
        reader.look(1.0)
    assert reader.standing() == "the collector has sent nothing for 9.0 s: what is shown is old"


def test_the_bottom_line_says_that_the_collector_was_not_run() -> None:
    reader = read(Clock(), Starvation(seconds=3.0, load=48.0, cores=2))
    assert reader.standing() == "this monitor gets no CPU (load 48 on 2 cores): values are late"
    assert os.getpid() not in reader.watch.pids
