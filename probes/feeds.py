"""Where samples come from. A front end cannot tell the feeds apart."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .limits import MAX_INTERVAL_SECONDS, MIN_INTERVAL_SECONDS
from .command import Command, SetInterval, Stop
from .sample import Hello, Reply, Sample
from .simulator import SimulatedNode
from .wire import Splitter, WireError, decode, encode

STOP_SECONDS = 0.3
KILL_SECONDS = 0.2


class FeedError(Exception):
    """The feed cannot go on. The text is one sentence for people."""


class Feed(Protocol):
    """A stream of samples of one node."""

    title: str
    """What it is, for the top line: ``live``, ``demo input-bound``…"""
    simulated: bool
    """Nothing in it can be signalled."""
    past_samples: int
    """So many samples of the past come first, at once."""

    def messages(self) -> Iterator[Sample | Reply]:
        """Everything that arrives, in order; may block. Ends after `close`.

        Raises:
            FeedError: when it cannot go on.
        """
        ...

    def send(self, command: Command) -> None:
        """Ask for something; the answer, if any, comes as a reply. Never blocks for long."""
        ...

    def close(self) -> str:
        """End it, in half a second at most. Returns a line on what had to be left behind, or ''."""
        ...


class CollectorFeed:
    """Samples of a collector that this process starts.

    Args:
        command: the collector's command line.
        title: see `Feed`.
    """

    simulated = False
    past_samples = 0

    def __init__(self, command: Sequence[str], title: str = "live") -> None:
        self.title = title
        self._closing = False
        # A session of its own: Ctrl-C at the terminal is for the front end alone.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._stream = self._read()
        self._early: list[Sample | Reply] = []

    @property
    def pid(self) -> int:
        """Of the collector."""
        return self._process.pid

    def first(self) -> Sample:
        """Wait for the first sample; `messages` brings it all the same.

        Raises:
            FeedError: when none comes.
        """
        for message in self._stream:
            self._early.append(message)
            if isinstance(message, Sample):
                return message
        raise FeedError("the collector was ended before its first sample")

    def messages(self) -> Iterator[Sample | Reply]:
        yield from self._early
        self._early.clear()
        yield from self._stream

    def _read(self) -> Iterator[Sample | Reply]:
        splitter = Splitter()
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        try:
            while data := os.read(descriptor, 1 << 18):
                for body in splitter.feed(data):
                    message = decode(body)
                    if message is not None and not isinstance(message, Hello):
                        yield message
        except WireError as error:
            raise FeedError(str(error)) from error
        if not self._closing:
            raise FeedError(f"the collector ended unexpectedly ({self._how_it_ended()})")

    def send(self, command: Command) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it is gone: `messages` will say so
            self._process.stdin.write(encode(command))

    def close(self) -> str:
        self._closing = True
        self.send(Stop(command_id=0))
        if self._ends_within(STOP_SECONDS):
            return ""
        self._process.kill()
        if self._ends_within(KILL_SECONDS):
            return ""
        # Else the interpreter would wait for it in its own clean-up.
        self._process.returncode = 0
        return (
            f"The collector (pid {self.pid}) hangs in the driver and cannot be killed; "
            "it ends by itself when the driver answers."
        )

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _how_it_ended(self) -> str:
        code = self._process.wait(KILL_SECONDS) if self._ends_within(KILL_SECONDS) else None
        if code is None:
            return "its output was closed"
        return f"signal {-code}" if code < 0 else f"exit code {code}"


class DemoFeed:
    """A simulated node, with two minutes of its past first.

    Args:
        scenario: name in `simulator.SCENARIOS`.
        interval_seconds: between samples.
    """

    PAST_STEP_SECONDS = 2.0

    simulated = True
    past_samples = 60

    def __init__(self, scenario: str, interval_seconds: float = 1.0) -> None:
        self.title = f"demo {scenario}"
        self._interval = interval_seconds
        self._node = SimulatedNode(scenario, start_time_seconds=time.time())
        self._closed = False
        self._hurried = threading.Event()

    def messages(self) -> Iterator[Sample | Reply]:
        for number in range(self.past_samples, 0, -1):
            yield self._node.sample_at(-number * self.PAST_STEP_SECONDS)
        began = time.monotonic()
        due = began
        while not self._closed:
            yield self._node.sample_at(due - began)
            due = max(due + self._interval, time.monotonic())
            if self._hurried.wait(due - time.monotonic()):
                self._hurried.clear()
                due = time.monotonic()

    def send(self, command: Command) -> None:
        if isinstance(command, SetInterval):
            self._interval = min(MAX_INTERVAL_SECONDS, max(MIN_INTERVAL_SECONDS, command.seconds))
            self._hurried.set()

    def close(self) -> str:
        self._closed = True
        self._hurried.set()
        return ""


def collector_command(
    interval_seconds: float, *, without: Sequence[str] = (), pids: Sequence[int] = ()
) -> list[str]:
    """The command line of a collector on this machine.

    ``-P`` keeps modules that lie in the current folder, such as a stray ``types.py``, out of it.
    """
    options = [f"--interval={interval_seconds:g}"]
    options += [f"--without={name}" for name in without]
    options += [f"--pid={pid}" for pid in pids]
    return [sys.executable, "-P", "-m", "gputop", "collect", *options]


def wedged_collectors(root: Path = Path("/")) -> list[int]:
    """Pids of collectors of this user that were killed but hang on in the kernel."""
    return [
        int(entry.name)
        for entry in (root / "proc").iterdir()
        if entry.name.isdecimal() and _is_wedged(entry)
    ]


def _is_wedged(process: Path) -> bool:
    try:
        if process.stat().st_uid != os.geteuid():
            return False
        command = (process / "cmdline").read_bytes().split(b"\0")
        if b"collect" not in command or b"gputop" not in command:
            return False
        status = (process / "status").read_text("ascii", "replace")
    except OSError:
        return False
    pending = [
        int(line.split()[1], 16)
        for line in status.splitlines()
        if line.startswith(("SigPnd:", "ShdPnd:"))
    ]
    return any(mask >> (signal.SIGKILL - 1) & 1 for mask in pending)
