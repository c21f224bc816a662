"""The collector as a process: the real command, against the simulated driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

import psutil
import pytest

from gputop.probes.model.sample import Sample
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.wire.codec import Message, Splitter, decode, encode
from gputop.probes.wire.command import (
    Command,
    Dump,
    LookAtWaits,
    SendSignal,
    SetInterval,
    ShowEnvironment,
    Stop,
    TakeStacks,
)
from gputop.probes.wire.messages import Hello, Reply

from nvml.simulated import SimulatedNvml
from support.ready_process import python
from support.terminal import wait_until

COLLECT = [sys.executable, "-P", "-m", "gputop", "collect", "--interval=0.2"]


class Running:
    """A collector, its stream and its commands."""

    def __init__(self, node: SimulatedNvml, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COLLECT, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=node.env(),
            bufsize=0,
        )
        assert self.process.stdin and self.process.stdout
        self.stdin: IO[bytes] = self.process.stdin
        self._stdout: IO[bytes] = self.process.stdout
        self._stream = self._messages()

    def next(self) -> Message:
        return next(self._stream)

    def sample(self) -> Sample:
        while not isinstance(message := self.next(), Sample):
            pass
        return message

    def settled(self) -> Sample:
        """A sample with all GPUs in it."""
        for _ in range(50):
            sample = self.sample()
            if len(sample.gpus) == 8 and all(gpu.uuid for gpu in sample.gpus):
                return sample
        raise AssertionError("not all GPUs within 50 samples")

    def ask(self, command: Command) -> Reply:
        self.stdin.write(encode(command))
        while not (isinstance(message := self.next(), Reply) and message.command_id == 7):
            pass
        return message

    def ends(self) -> int:
        """The exit code; a failure where it does not end in good time."""
        return self.process.wait(5)

    def _messages(self) -> Iterator[Message]:
        splitter = Splitter()
        while data := os.read(self._stdout.fileno(), 1 << 18):
            for body in splitter.feed(data):
                message = decode(body)
                assert message is not None
                yield message


@contextmanager
def running(node: SimulatedNvml, *options: str) -> Iterator[Running]:
    collector = Running(node, *options)
    try:
        yield collector
    finally:
        collector.process.kill()
        collector.process.wait()
        collector.stdin.close()
        if collector.process.stdout:
            collector.process.stdout.close()


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


LATE = {
    *("threads", "stacks", "inprocess", "cgroups", "infiniband", "topology", "numa"),
    "kernel log",
}
"""Sources that the first picture can do without."""


def sources_of(sample: Sample) -> set[str]:
    return {source.name for source in sample.sources if source.monotonic_seconds is not None}


def test_the_rest_of_the_sources_comes_soon_after_the_first_sample(node: SimulatedNvml) -> None:
    with running(node, "--interval=30") as collector:
        first = collector.sample()
        assert not LATE & sources_of(first)
        assert {"nvml", "processes", "host", "nvml gpu 7"} <= sources_of(first)
        second = collector.sample()
        assert second.monotonic_seconds - first.monotonic_seconds < 10.0
        assert sources_of(second) >= LATE - {"infiniband", "numa", "kernel log"}
        assert {source.name for source in second.sources} >= LATE


def test_for_a_process_that_was_asked_for_all_sources_begin_at_once(node: SimulatedNvml) -> None:
    with running(node, "--interval=30", f"--pid={os.getpid()}") as collector:
        assert {source.name for source in collector.sample().sources} >= LATE


def test_a_request_for_stacks_brings_a_sample_and_its_renewal_none(node: SimulatedNvml) -> None:
    """A front end renews its request with every sample: else each would bring the next one at once."""
    request = TakeStacks(command_id=7, pids=(os.getpid(),), seconds=30.0)
    with running(node, "--interval=3", f"--pid={os.getpid()}") as collector:
        moments = [collector.settled().monotonic_seconds]
        for _ in range(3):
            collector.ask(request)
            moments.append(collector.sample().monotonic_seconds)
    first, *later = (after - before for before, after in pairwise(moments))
    assert first < 2.0
    assert all(seconds > 2.0 for seconds in later)


READS_ITS_OWN_PIPE = "import os\nr, w = os.pipe()\nprint('ready', flush=True)\nos.read(r, 1)"


def test_what_is_waited_for_is_looked_up_while_it_is_asked_for_and_not_otherwise(
    node: SimulatedNvml,
) -> None:
    with python(READS_ITS_OWN_PIPE) as pid, running(node, f"--pid={pid}") as collector:
        assert not any(collector.sample().waits for _ in range(5))
        collector.ask(LookAtWaits(command_id=7, pids=(pid,), seconds=2.0))
        found = [collector.sample().waits for _ in range(5)]
        (reading,) = next(each for each in found if each)
        assert (reading.pid, reading.things[0].kind) == (pid, "pipe")
        assert reading.things[0].own
        wait_until(lambda: not collector.sample().waits, 10, "no more looks")


def test_the_stream_opens_with_a_hello_and_goes_on_with_samples(node: SimulatedNvml) -> None:
    with running(node) as collector:
        hello = collector.next()
        assert isinstance(hello, Hello)
        assert hello.pid == collector.process.pid
        sample = collector.settled()
        assert len(sample.gpus) == 8
        assert sample.host is not None
        assert {source.name for source in sample.sources} >= {"nvml", "nvml gpu 0", "host"}


def test_it_ends_when_its_standard_input_ends(node: SimulatedNvml) -> None:
    with running(node) as collector:
        collector.sample()
        collector.stdin.close()
        assert collector.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_on_a_signal(node: SimulatedNvml, number: signal.Signals) -> None:
    with running(node) as collector:
        collector.sample()
        collector.process.send_signal(number)
        assert collector.ends() == 0


def test_it_ends_on_a_stop_command_also_while_the_driver_hangs(node: SimulatedNvml) -> None:
    node.delay("nvmlDeviceGetUtilizationRates", 3, 30)
    with running(node) as collector:
        collector.sample()
        collector.stdin.write(encode(Stop(command_id=7)))
        assert collector.ends() == 0


def test_it_ends_on_rubbish(node: SimulatedNvml) -> None:
    with running(node) as collector:
        collector.sample()
        collector.stdin.write(b"rubbish" * 20_000)
        assert collector.ends() == 0


def test_it_does_not_outlive_a_front_end_that_is_killed(node: SimulatedNvml) -> None:
    script = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({COLLECT!r}, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,"
        " start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=node.env(), text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(1)
    assert psutil.pid_exists(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not alive(pid), 5, "the orphan ends")


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_call_that_hangs_makes_one_gpu_old_and_no_other(node: SimulatedNvml) -> None:
    with running(node) as collector:
        collector.settled()
        node.delay("*", 3, 30)
        # Asked when each sample left, not when it was read: the machine may be slow, the stream not.
        samples = [collector.sample() for _ in range(20)]
    newest = samples[-1]
    ages = {gpu.index: newest.monotonic_seconds - gpu.monotonic_seconds for gpu in newest.gpus}
    assert ages[3] > 2.0
    assert max(age for index, age in ages.items() if index != 3) < 1.0
    gaps = [
        later.monotonic_seconds - earlier.monotonic_seconds for earlier, later in pairwise(samples)
    ]
    assert max(gaps) < 1.0


def test_commands_are_answered(node: SimulatedNvml) -> None:
    with running(node) as collector:
        reply = collector.ask(SetInterval(command_id=7, seconds=0.01))
        assert (reply.ok, reply.data["seconds"]) == (True, 0.2)
        assert collector.ask(Dump(command_id=7)).ok


def test_a_signal_reaches_exactly_the_process_that_was_meant(node: SimulatedNvml) -> None:
    target = subprocess.Popen(["sleep", "60"])
    began = start_time_of(target.pid)
    assert began is not None
    with running(node) as collector:
        wrong = collector.ask(
            SendSignal(
                command_id=7, pid=target.pid, start_time_seconds=began - 100, signal=signal.SIGTERM
            )
        )
        assert not wrong.ok
        assert "exited" in wrong.message
        assert target.poll() is None
        right = collector.ask(
            SendSignal(
                command_id=7, pid=target.pid, start_time_seconds=began, signal=signal.SIGTERM
            )
        )
        assert right.ok
    assert target.wait(5) == -signal.SIGTERM


def test_the_environment_is_shown_when_asked_for(node: SimulatedNvml) -> None:
    target = subprocess.Popen(["sleep", "60"], env={"COLOR": "blue", "ODD": "\udcff"})
    began = start_time_of(target.pid)
    assert began is not None
    wait_until(lambda: b"COLOR" in Path(f"/proc/{target.pid}/environ").read_bytes(), 5, "the exec")
    with running(node) as collector:
        reply = collector.ask(
            ShowEnvironment(command_id=7, pid=target.pid, start_time_seconds=began)
        )
    target.kill()
    target.wait()
    assert reply.data["environment"]["COLOR"] == "blue"


def test_a_process_asked_for_is_in_the_sample(node: SimulatedNvml) -> None:
    target = subprocess.Popen(["sleep", "60"])
    with running(node, f"--pid={target.pid}") as collector:
        pids = {process.pid for _ in range(3) for process in collector.sample().processes}
    target.kill()
    target.wait()
    assert target.pid in pids


def test_a_driver_that_is_not_there_leaves_the_rest(node: SimulatedNvml) -> None:
    node.fault("nvmlInit_v2", "system", "DRIVER_NOT_LOADED")
    with running(node) as collector:
        for _ in range(60):
            sample = collector.sample()
            nvml = next(source for source in sample.sources if source.name == "nvml")
            if nvml.status != "stale" and sample.host is not None:
                break
    assert nvml.status in ("absent", "failed")
    assert "driver" in nvml.reason
    assert sample.host is not None
    assert sample.gpus == ()


ROUNDS = 6


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_whatever_call_hangs_the_other_gpus_stay_fresh(node: SimulatedNvml, turn: int) -> None:
    """Each of the calls that a collector makes hangs on a GPU of its own; GPU 7 has none."""
    with running(node) as collector:
        collector.settled()
        functions = sorted({function for function, gpu in node.calls() if gpu is not None})
        assert len(functions) > 20
        for index, function in enumerate(functions[turn::ROUNDS]):
            node.delay(function, index % 7, 30)
        samples = [collector.sample() for _ in range(8)]
    free = samples[-1].gpus[7]
    assert samples[-1].monotonic_seconds - free.monotonic_seconds < 1.0
    gaps = [b.monotonic_seconds - a.monotonic_seconds for a, b in pairwise(samples)]
    assert max(gaps) < 1.0


def test_calls_that_are_about_no_gpu_may_hang_too(node: SimulatedNvml) -> None:
    with running(node) as collector:
        collector.settled()
        functions = sorted({function for function, gpu in node.calls() if gpu is None})
        for function in functions:
            node.delay(function, "system", 30)
        samples = [collector.sample() for _ in range(8)]
    newest = samples[-1]
    assert all(newest.monotonic_seconds - gpu.monotonic_seconds < 1.0 for gpu in newest.gpus)
