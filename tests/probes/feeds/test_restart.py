"""A collector that ends unasked: the screen says so, another takes its place, and nothing is forgotten."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import psutil
import pytest

from gputop.probes.feeds.collector_feed import CollectorFeed
from gputop.probes.feeds.protocol import CollectorEnded
from gputop.probes.feeds.restart import Backoff, Requested
from gputop.probes.model.sample import Sample
from gputop.probes.wire.command import Attach, Detach, Dump, SetInterval

from nvml.simulated import SimulatedNvml
from support.another_user import AS_ANOTHER
from support.terminal import Tmux, wait_until
from support.wedge import wedged_driver

GPUTOP = [sys.executable, "-P", "-m", "gputop"]

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def collectors(program: Tmux) -> list[psutil.Process]:
    below = psutil.Process(program.pid()).children(recursive=True)
    return [process for process in below if process.name() == "gputop-collect"]


@needs_tmux
def test_killed_collectors_are_replaced_by_ones_asked_for_the_same(node: SimulatedNvml) -> None:
    command = [*GPUTOP, "--interval", "0.5", str(os.getpid())]
    with closing(Tmux(command, columns=160, lines=45, env=node.env())) as program:
        program.wait_for("q quit")
        program.type("+")
        program.wait_for("a sample every 1 s")
        for watts, seconds in ((301, 1), (302, 2)):
            killed = collectors(program)[0]
            killed.kill()
            program.wait_for(
                f"the collector ended unexpectedly (signal 9): restarting in {seconds} s"
            )
            node.set({"gpu.5.power": watts})
            screen = program.wait_for(f"{watts}/700")
            assert f" {os.getpid()} " in screen  # which is on no GPU: it was asked for
            assert f"live pid {os.getpid()}" in screen
            wait_until(lambda: not killed.is_running(), 5, "it is reaped")  # noqa: B023
            command = collectors(program)[0].cmdline()
            assert command[command.index("--interval") + 1] == "1.0"
        assert len(collectors(program)) == 1
        program.type("q")
        program.wait_for("exit code 0", 5)


@needs_tmux
def test_while_none_is_there_it_quits_at_once(node: SimulatedNvml) -> None:
    with closing(Tmux(GPUTOP, columns=160, lines=45, env=node.env())) as program:
        program.wait_for("q quit")
        collectors(program)[0].kill()
        program.wait_for("restarting")
        program.type("q")
        program.wait_for("exit code 0", 5)


@needs_tmux
def test_one_that_was_killed_but_hangs_is_the_only_one() -> None:
    command = [*AS_ANOTHER, *GPUTOP]
    with (
        wedged_driver() as env,
        closing(Tmux(command, columns=160, lines=45, env=env)) as program,
    ):
        program.wait_for("driver not answering")
        hanging = collectors(program)[0]
        hanging.kill()
        time.sleep(2.5)  # longer than the first wait
        assert collectors(program) == [hanging]


def test_what_looks_once_does_not_wait_for_another() -> None:
    feed = CollectorFeed(0.2, without=("nvml",))
    messages = feed.messages()
    assert isinstance(next(messages), Sample)
    psutil.Process(feed.pid).kill()
    with pytest.raises(CollectorEnded, match="signal 9"):
        list(messages)
    feed.close()


def test_the_wait_doubles_until_one_has_lasted() -> None:
    backoff, now = Backoff(), 1000.0
    waits: list[float] = []
    for lasted in (100.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 29.0, 31.0, 0.5):
        waits.append(backoff.next_seconds(now + lasted))
        now += lasted + waits[-1]
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30, 1, 2]


def test_the_command_line_holds_all_that_was_asked_for() -> None:
    requested = Requested(1.0, ("host",), (7,))
    for command in (
        Attach(command_id=1, pid=8),
        Attach(command_id=2, pid=9),
        Detach(command_id=3, pid=8),
        Detach(command_id=4, pid=5),
        SetInterval(command_id=5, seconds=0.2),
        Dump(command_id=6),
    ):
        requested.note(command)
    plain = " ".join(requested.command(without_nvml=False))
    assert plain.endswith("collect --interval 0.2 --without host --pid 7 --pid 9")
    assert " --without host --without nvml " in " ".join(requested.command(without_nvml=True))
