"""The collector keeps time whatever its sources do."""

from __future__ import annotations

import threading
import time
from itertools import islice, pairwise

import pytest

from gputop.probes.collector.collector import Collector
from gputop.probes.model.gpu_readings import GpuReading
from gputop.probes.model.host_readings import HostReading
from gputop.probes.model.sample import Sample, SourceStatus
from gputop.probes.sources.protocol import Part, SourceDenied

INTERVAL = 0.2


class Healthy:
    """Counts its reads."""

    name = "host"
    reads = 0

    def read(self) -> tuple[Part, ...]:
        self.reads += 1
        return (HostReading(monotonic_seconds=time.monotonic(), cpus=self.reads),)

    def close(self) -> None: ...


class Resting(Healthy):
    """Has no news for a while after each read."""

    rest_seconds = 4.5 * INTERVAL


class Hanging:
    """Answers once, then hangs until it is let go."""

    name = "nvml gpu 3"

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.reads = 0

    def read(self) -> tuple[Part, ...]:
        self.reads += 1
        if self.reads == 2:
            self.let_go.wait(30)
        return (GpuReading(index=3, monotonic_seconds=time.monotonic()),)

    def close(self) -> None: ...


class Raising:
    """Never has anything to say."""

    def __init__(self, name: str, error: BaseException) -> None:
        self.name = name
        self._error = error

    def read(self) -> tuple[Part, ...]:
        raise self._error

    def close(self) -> None: ...


class Unprintable(Exception):
    """Fails again when it is asked what has failed."""

    def __str__(self) -> str:
        raise ValueError


class Quitting(Healthy):
    """Ends the interpreter at its first two reads, as a library would that gives up."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self.asked = 0

    def read(self) -> tuple[Part, ...]:
        self.asked += 1
        if self.asked <= 2:
            raise self._error
        return super().read()


def collector(*sources: Healthy | Hanging | Raising) -> Collector:
    made = Collector("node17", interval_seconds=INTERVAL)
    for source in sources:
        made.add(source)
    return made


def status(sample: Sample, name: str) -> SourceStatus:
    return next(source for source in sample.sources if source.name == name)


def test_a_source_that_hangs_delays_nothing_and_its_last_reading_grows_old() -> None:
    hanging = Hanging()
    began = time.monotonic()
    samples = list(islice(collector(hanging, Healthy()).samples(), 6))
    took = time.monotonic() - began
    ages = [sample.monotonic_seconds - sample.gpus[0].monotonic_seconds for sample in samples]
    assert took < 5 * INTERVAL * 5
    assert ages[-1] > 3 * INTERVAL
    assert ages[1:] == sorted(ages[1:])
    assert [sample.host.cpus for sample in samples if sample.host] == [1, 2, 3, 4, 5, 6]
    late = status(samples[-1], "nvml gpu 3")
    assert late.status == "stale"
    assert late.busy_seconds is not None and late.busy_seconds > 3 * INTERVAL
    assert hanging.reads == 2  # no second call is made into a driver that hangs
    hanging.let_go.set()


def test_a_source_that_rests_is_not_asked_and_what_it_said_stands() -> None:
    resting = Resting()
    samples = list(islice(collector(resting).samples(), 9))
    assert resting.reads == 2
    assert [sample.host.cpus for sample in samples if sample.host][:3] == [1, 1, 1]
    assert len([sample for sample in samples if sample.host]) == 9


def test_a_source_that_comes_back_is_read_again() -> None:
    hanging = Hanging()
    stream = collector(hanging).samples()
    for _ in range(3):
        next(stream)
    hanging.let_go.set()
    samples = list(islice(stream, 3))
    newest = samples[-1]
    assert status(newest, "nvml gpu 3").status == "ok"
    assert newest.monotonic_seconds - newest.gpus[0].monotonic_seconds < INTERVAL


def test_what_a_source_raises_becomes_its_status() -> None:
    denied = Raising("kernel log", SourceDenied("only root may read it"))
    broken = Raising("probes", RuntimeError("boom"))
    sample = next(collector(denied, broken, Healthy()).samples())
    assert status(sample, "kernel log").status == "denied"
    assert status(sample, "kernel log").reason == "only root may read it"
    assert status(sample, "probes").status == "failed"
    assert status(sample, "probes").reason == "RuntimeError: boom"
    assert status(sample, "host").status == "ok"
    assert sample.host is not None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit("x"), "GeneratorExit: x"),
        (BaseException(), "BaseException"),
        (MemoryError(), "MemoryError"),
        (Unprintable(), "Unprintable"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_source_that_ends_the_interpreter_has_failed_and_is_asked_again(
    error: BaseException, reason: str
) -> None:
    quitting = Quitting(error)
    samples = list(islice(collector(quitting).samples(), 4))
    states = [status(sample, "host") for sample in samples]
    assert [each.status for each in states] == ["failed", "failed", "ok", "ok"]
    assert [each.reason for each in states] == [reason, reason, "", ""]
    assert [each.busy_seconds for each in states] == [None] * 4
    assert samples[-1].host is not None


def test_a_source_added_while_running_is_in_the_next_sample() -> None:
    made = collector()
    stream = made.samples()
    assert next(stream).host is None
    made.add(Healthy())
    assert next(stream).host is not None


def test_a_hurry_brings_the_next_sample_at_once() -> None:
    made = Collector("node17", interval_seconds=30)
    made.add(Healthy())
    stream = made.samples()
    next(stream)
    threading.Timer(0.1, made.hurry).start()
    began = time.monotonic()
    next(stream)
    assert time.monotonic() - began < 5


def test_a_hurry_that_never_ends_brings_no_flood() -> None:
    made = Collector("node17", interval_seconds=30)
    made.add(Healthy())
    moments: list[float] = []
    for sample in islice(made.samples(), 5):
        moments.append(sample.monotonic_seconds)
        made.hurry()
    assert all(after - before > 0.15 for before, after in pairwise(moments))


def test_the_interval_is_held_to_its_bounds() -> None:
    made = collector()
    assert made.set_interval(0.0001) == 0.2
    assert made.set_interval(1e9) == 60.0


def test_a_slow_reader_gets_no_burst_afterwards() -> None:
    stream = collector(Healthy()).samples()
    next(stream)
    time.sleep(5 * INTERVAL)
    first, second, third = islice(stream, 3)
    assert second.monotonic_seconds - first.monotonic_seconds > 0.5 * INTERVAL
    assert third.monotonic_seconds - second.monotonic_seconds > 0.5 * INTERVAL
