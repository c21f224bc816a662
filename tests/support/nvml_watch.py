"""A child process that reads the NVML sources on a simulated driver, one tick at a time.

The child is needed because a process can load only one libnvidia-ml.so.1. Each source has its own
thread there, as in the collector, and time moves only when a test says so.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Self

import msgspec

from gputop.probes.model.gpu_readings import DriverReading, GpuReading, XidReading
from gputop.probes.model.link_readings import GpuPathsReading
from gputop.probes.sources.nvml.driver import NvmlDriver
from gputop.probes.sources.protocol import Source, SourceError
from gputop.probes.sources.watchlist import Watchlist

PATIENCE_SECONDS = 10.0


class Outcome(msgspec.Struct):
    """What one source gave at one tick."""

    name: str
    status: str = "ok"
    reason: str = ""
    driver: DriverReading | None = None
    gpu: GpuReading | None = None
    xids: tuple[XidReading, ...] = ()
    paths: GpuPathsReading | None = None


class Tick(msgspec.Struct):
    """What all sources gave. ``blocked`` are those still inside a read."""

    outcomes: dict[str, Outcome]
    blocked: tuple[str, ...]
    cpu_seconds: float
    pids: tuple[int, ...]

    @property
    def gpus(self) -> list[GpuReading]:
        """The GPU readings in order of their index."""
        found = [each.gpu for each in self.outcomes.values() if each.gpu is not None]
        return sorted(found, key=lambda gpu: gpu.index)

    def gpu(self, index: int) -> GpuReading:
        """The reading of that GPU, which must have one."""
        reading = self.outcomes[f"nvml gpu {index}"].gpu
        assert reading is not None, self.outcomes[f"nvml gpu {index}"]
        return reading


class Watch:
    """The parent's side."""

    def __init__(self, env: dict[str, str]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", "from support.nvml_watch import serve; serve()"],
            env={**env, "PYTHONPATH": str(Path(__file__).parents[1])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()

    def tick(self, advance: float = 1.0, *, hung: str = "", only: str = "") -> Tick:
        """Read every source once, or ``only`` one, ``advance`` seconds after the last tick.

        The source named ``hung`` is not waited for, all others are.
        """
        return msgspec.convert(self.ask(do="tick", advance=advance, hung=hung, only=only), Tick)

    def ticks(self, number: int, advance: float = 1.0) -> Tick:
        """The last of so many."""
        return [self.tick(advance) for _ in range(number)][-1]

    def ask(self, **command: Any) -> Any:
        """Send one command and wait for its answer."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(command).encode() + b"\n")
        stdin.flush()
        line = stdout.readline()
        assert line, f"the child ended with {self._child.wait()}"
        return msgspec.json.decode(line)


class _Reader:
    """One source on its thread."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._asked: queue.Queue[None] = queue.Queue()
        self.done = threading.Event()
        self.done.set()
        self.outcome = Outcome(source.name)
        threading.Thread(target=self._run, daemon=True).start()

    def ask(self) -> None:
        if self.done.is_set():
            self.done.clear()
            self._asked.put(None)

    def _run(self) -> None:
        while True:
            self._asked.get()
            try:
                self.outcome = self._read()
            except Exception:  # noqa: BLE001 - what a source must never do; the test shall see it
                self.outcome = Outcome(self.source.name, "crashed", traceback.format_exc())
            self.done.set()

    def _read(self) -> Outcome:
        outcome = Outcome(self.source.name)
        try:
            parts = self.source.read()
        except SourceError as error:
            return Outcome(self.source.name, error.status, error.reason)
        for part in parts:
            if isinstance(part, DriverReading):
                outcome.driver = part
            elif isinstance(part, GpuReading):
                outcome.gpu = part
            elif isinstance(part, GpuPathsReading):
                outcome.paths = part
            elif isinstance(part, XidReading):
                outcome.xids += (part,)
        return outcome


class _Node:
    """All sources of the child."""

    def __init__(self) -> None:
        self._skew = 0.0
        self._watchlist = Watchlist()
        self._readers: list[_Reader] = []
        self._driver = NvmlDriver(self._add, self._watchlist, clock=self._clock)
        self._add(self._driver)

    def tick(self, advance: float, hung: str, only: str) -> Tick:
        self._skew += advance
        deadline = time.monotonic() + PATIENCE_SECONDS
        cpu = time.process_time()
        # Sources that the driver adds while it is read have their first turn in the same tick.
        for reader in self._readers:
            if only in ("", reader.source.name):
                reader.ask()
            if reader.source is self._driver and hung != self._driver.name:
                reader.done.wait(PATIENCE_SECONDS)
        for reader in self._readers:
            if reader.source.name != hung:
                reader.done.wait(max(0.0, deadline - time.monotonic()))
        blocked = [reader.source.name for reader in self._readers if not reader.done.is_set()]
        return Tick(
            outcomes={reader.source.name: reader.outcome for reader in self._readers},
            blocked=tuple(blocked),
            cpu_seconds=time.process_time() - cpu,
            pids=tuple(sorted(self._watchlist.pids())),
        )

    def close(self) -> float:
        begin = time.monotonic()
        for reader in self._readers:
            reader.source.close()
        return time.monotonic() - begin

    def _add(self, source: Source) -> None:
        self._readers.append(_Reader(source))

    def _clock(self) -> float:
        # Real time stays in it, so that a blocked call is seen to take time.
        return time.monotonic() + self._skew


def serve() -> None:
    """The child's side."""
    loaded_by_import = "pynvml" in sys.modules
    node = _Node()
    for line in sys.stdin:
        command = json.loads(line)
        match command.pop("do"):
            case "tick":
                answer: Any = node.tick(**command)
            case "close":
                answer = node.close()
            case _:
                answer = loaded_by_import
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    os._exit(0)
