"""Where samples come from. A front end cannot tell the feeds apart."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .child import PIPE_BYTES, Child, readable
from .command import Command, Stop
from .limits import COLLECTOR_NAME
from .sample import Hello, Reply, Sample
from .wire import Splitter, WireError, decode, encode

STOP_SECONDS = 0.3
KILL_SECONDS = 0.2
DYING_SECONDS = 0.3


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
    """Samples of a collector on this machine, which is started here.

    It must be made while this process has one thread.

    Args:
        interval_seconds: between samples.
        without: names of sources that the collector shall not use.
        pids: processes to watch from the start.
    """

    simulated = False
    past_samples = 0

    def __init__(
        self, interval_seconds: float, *, without: Sequence[str] = (), pids: Sequence[int] = ()
    ) -> None:
        self.title = f"live pid {pids[0]}" if pids else "live"
        self._closing = False
        self._child = Child(lambda: _collect(interval_seconds, without, pids))
        self._splitter = Splitter()
        self._early: list[Sample | Reply] = []

    def first(self, seconds: float) -> Sample | None:
        """Wait for the first sample, but no longer than that; `messages` brings it all the same.

        Raises:
            FeedError: when the collector ends instead.
        """
        for message in self._read(time.monotonic() + seconds):
            self._early.append(message)
            if isinstance(message, Sample):
                return message
        return None

    def messages(self) -> Iterator[Sample | Reply]:
        yield from self._early
        self._early.clear()
        yield from self._read()

    def _read(self, deadline: float = math.inf) -> Iterator[Sample | Reply]:
        """What arrives until the deadline, on the monotonic clock."""
        try:
            while self._has_news(deadline):
                data = os.read(self._child.output, PIPE_BYTES)
                if not data:
                    break
                for body in self._splitter.feed(data):
                    message = decode(body)
                    if message is not None and not isinstance(message, Hello):
                        yield message
            else:
                return
        except WireError as error:
            raise FeedError(str(error)) from error
        if not self._closing:
            how = self._child.ended_within(KILL_SECONDS) or "its output was closed"
            raise FeedError(f"the collector ended unexpectedly ({how})")

    def _has_news(self, deadline: float) -> bool:
        if deadline == math.inf:
            return True
        return readable(self._child.output, deadline - time.monotonic())

    def send(self, command: Command) -> None:
        self._child.write(encode(command))

    def close(self) -> str:
        self._closing = True
        self.send(Stop(command_id=0))
        if self._child.ended_within(STOP_SECONDS):
            return ""
        self._child.kill()
        if self._child.ended_within(KILL_SECONDS):
            return ""
        return (
            f"The collector (pid {self._child.pid}) hangs in the driver and cannot be killed; "
            "it ends by itself when the driver answers."
        )


def _collect(interval_seconds: float, without: Sequence[str], pids: Sequence[int]) -> None:
    from .collect import collect  # in the child, beside what the front end is loading

    collect(interval_seconds=interval_seconds, without=frozenset(without), pids=tuple(pids))


def wedged_collectors(root: Path = Path("/")) -> list[int]:
    """Pids of collectors of this user that were killed but hang on in the kernel."""
    proc = root / "proc"
    with os.scandir(proc) as entries:
        pids = [entry.name for entry in entries if entry.name.isdecimal()]
    named = [proc / pid for pid in pids if _is_named(proc, pid)]
    found = [process for process in named if _is_wedged(process)]
    if found:
        time.sleep(DYING_SECONDS)  # whoever merely takes a moment to die is gone by then
    return [int(process.name) for process in found if _is_wedged(process)]


def _is_named(proc: Path, pid: str) -> bool:
    # Asked of every process of the node, of which there may be thousands.
    try:
        descriptor = os.open(f"{proc}/{pid}/comm", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.read(descriptor, 32).rstrip() == COLLECTOR_NAME.encode()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_wedged(process: Path) -> bool:
    try:
        if process.stat().st_uid != os.geteuid():
            return False
        lines = (process / "status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    killed = any(
        int(status[mask][0], 16) >> (signal.SIGKILL - 1) & 1 for mask in ("SigPnd", "ShdPnd")
    )
    if status["State"][0] == "Z":  # dead, unless its main thread ended while another one hangs
        return int(status["Threads"][0]) > 1
    return killed
