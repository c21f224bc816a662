"""The GPU's times of steps, with a GPU whose clock the test turns."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.inprocess.instruments.gpu_time import GpuTime
from gputop.probes.inprocess.page import make_page
from gputop.probes.inprocess.probe import Probe

DATA, H2D, FORWARD, OPTIMIZER = (
    layout.CODES[name] for name in ("data", "h2d", "forward", "optimizer")
)
GPU_SECONDS = 0.01
"""What the GPU takes from each event to the next."""


class Event:
    """As torch's: done when the GPU has come to it."""

    def __init__(self, gpu: Gpu, place: int) -> None:
        self.gpu = gpu
        self.place = place

    def query(self) -> bool:
        """Whether it has."""
        return self.place < self.gpu.reached

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds; an error before both are done, as torch's."""
        if not (self.query() and end.query()):
            raise RuntimeError("not ready")
        return (end.place - self.place) * GPU_SECONDS * 1e3


class Gpu:
    """A clock that comes to its events when it is reported."""

    def __init__(self, pool: int = 100) -> None:
        self.reached = 0
        self.recorded = 0
        self.free = pool
        self.capturing = False

    def usable(self) -> bool:
        """Whether no graph is captured."""
        return not self.capturing

    def record(self) -> Event | None:
        """The next event, while there is one."""
        if not self.free:
            return None
        self.free -= 1
        self.recorded += 1
        return Event(self, self.recorded - 1)

    def give_back(self, events: list[Event]) -> None:
        """Into the pool."""
        self.free += len(events)


class Loop:
    """Steps of a draw, a forward and an optimizer's step, 6 ms each."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.probe = Probe(make_page())
        self.track = self.probe.track()
        self.instrument = GpuTime(self.probe, gpu)
        self.instrument.start()

    def step(self, seconds: float = 0.006) -> None:
        """One of them."""
        steps = self.probe.steps
        steps.drawing()
        self._phase(DATA)
        steps.forward()
        self._phase(FORWARD)
        time.sleep(seconds)
        steps.optimizer_done(1, self._phase(OPTIMIZER))

    def _phase(self, code: int) -> int:
        return self.track.leave(self.track.enter(code))

    def resolve(self) -> dict[str, object]:
        """What the probe's thread does once a second."""
        (gauge,) = self.probe.gauges
        return gauge()

    def stored(self, number: int) -> layout.Step:
        """The step's record in the page."""
        at = layout.STEPS_AT + (number - 1) * layout.STEP_SIZE
        record = layout.unrecord(bytes(self.probe.page.view[at : at + layout.STEP_SIZE]))
        assert record
        step = layout.unpack_step(record[1])
        assert step
        return step


@pytest.fixture
def gpu() -> Gpu:
    return Gpu()


@pytest.fixture
def loop(gpu: Gpu) -> Iterator[Loop]:
    loop = Loop(gpu)
    yield loop
    loop.probe.page.remove()


def test_nothing_is_reported_before_the_gpu_is_there(loop: Loop) -> None:
    loop.step()
    loop.step()
    assert loop.resolve() == {"gpu_time_dropped": 0}
    assert all(gpu is None for _, _, gpu in loop.stored(1).phases)


def test_the_record_of_a_step_gets_its_times(loop: Loop, gpu: Gpu) -> None:
    loop.step()
    loop.step()
    before = loop.stored(1)
    gpu.reached = gpu.recorded
    loop.resolve()
    after = loop.stored(1)
    times = {code: time for code, _, time in after.phases}
    assert times[DATA] == times[FORWARD] == times[OPTIMIZER] == GPU_SECONDS * 1e9
    assert times[H2D] == GPU_SECONDS * 1e9, "what lies between a draw and the forward"
    assert {code: host for code, host, _ in before.phases}.items() <= {
        code: host for code, host, _ in after.phases
    }.items()
    assert (after.number, after.duration) == (before.number, before.duration)


def test_a_step_begins_where_the_one_before_ended(loop: Loop, gpu: Gpu) -> None:
    for _ in range(4):
        loop.step()
    gpu.reached = gpu.recorded
    loop.resolve()
    whole = [sum(time or 0 for _, _, time in loop.stored(number).phases) for number in (1, 2, 3)]
    assert whole[0] == 5 * GPU_SECONDS * 1e9
    assert whole[1] == whole[2] == 6 * GPU_SECONDS * 1e9


def test_events_go_back_into_the_pool(loop: Loop, gpu: Gpu) -> None:
    for _ in range(50):
        loop.step()
        gpu.reached = gpu.recorded
        loop.resolve()
    assert gpu.free > 100 - 14
    assert loop.resolve() == {"gpu_time_dropped": 0}


def test_an_empty_pool_drops_steps_and_counts_them(loop: Loop, gpu: Gpu) -> None:
    gpu.free = 8
    for _ in range(5):
        loop.step()
    assert loop.resolve()["gpu_time_dropped"] == 3, "one is whole, the last one open"
    gpu.reached = gpu.recorded
    for _ in range(3):
        loop.step()
        gpu.reached = gpu.recorded
        loop.resolve()
    assert loop.instrument.state == "on"
    assert gpu.free <= 8
    assert any(gpu is not None for _, _, gpu in loop.stored(7).phases), "it goes on"


def test_a_step_in_which_a_graph_is_captured_has_no_times(loop: Loop, gpu: Gpu) -> None:
    loop.step()
    gpu.capturing = True
    loop.step()
    gpu.capturing = False
    loop.step()
    loop.step()
    gpu.reached = gpu.recorded
    loop.resolve()
    reported = [any(gpu for _, _, gpu in loop.stored(number).phases) for number in (1, 2, 3)]
    assert reported == [True, False, True]


def test_run_ahead_is_the_age_of_what_the_gpu_does_now(loop: Loop, gpu: Gpu) -> None:
    loop.step()  # the GPU has done nothing of it
    loop.step()
    gpu.reached = gpu.recorded  # all of it
    loop.step()
    gpu.reached = gpu.recorded
    loop.resolve()
    first, second = loop.stored(1).run_ahead, loop.stored(2).run_ahead
    assert first is not None
    assert first > 6e6
    assert second == 0


def test_what_lies_within_a_phase_is_timed_with_it(loop: Loop, gpu: Gpu) -> None:
    """A collective, a phase of the job's own: they may be many, and cost an event each."""
    inside = [layout.CODES["comm"], layout.CODES["compile"], layout.USER_CODE]
    for _ in range(2):
        loop.probe.steps.drawing()
        loop._phase(DATA)
        depth = loop.track.enter(FORWARD)
        for code in inside:
            loop._phase(code)
        loop.track.leave(depth)
        loop.probe.steps.optimizer_done(1, loop._phase(OPTIMIZER))
        time.sleep(0.006)
    gpu.reached = gpu.recorded
    loop.resolve()
    times = {code: took for code, _, took in loop.stored(1).phases if took is not None}
    assert times.keys() == {DATA, H2D, FORWARD, OPTIMIZER, layout.CODES["startup"]}
    assert times[FORWARD] == GPU_SECONDS * 1e9


def test_short_steps_are_not_all_timed(loop: Loop, gpu: Gpu) -> None:
    for _ in range(40):
        loop.step(0.0)
    assert gpu.recorded < 40 * 3


def test_taken_out_it_leaves_nothing_behind(loop: Loop, gpu: Gpu) -> None:
    loop.step()
    loop.instrument.stop("enough")
    before = gpu.recorded
    loop.step()
    assert gpu.recorded == before
    assert loop.probe.at_step_end == []
