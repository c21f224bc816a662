"""A real process with the probe in it, loaded by path as in an environment without gputop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.sources.page.location import owner_of
from gputop.probes.sources.page.reader import find_page

FOLDER = Path(__file__).parents[2] / "probes"
_BEGIN = """
import os, signal, sys, threading, time
sys.path.append({folder!r})  # last: what lies beside the probe must hide nothing of the job
import inprocess.api as gputop
attached = gputop.attach()
def settled(probe): return getattr(probe.instruments.get("control"), "state", "not there") != "not there"
while attached and not settled(gputop.active()): time.sleep(0.002)  # its own thread does the rest
def say(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # in one piece
"""


class Job:
    """A running process. Its standard output is read line by line."""

    def __init__(self, process: subprocess.Popen[str], runtime: Path) -> None:
        self.process = process
        self.runtime = runtime

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """The next line that it says; empty when there is none to come."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def pages(self) -> list[Path]:
        """The pages under its own runtime directory."""
        return sorted((self.runtime / "gputop").glob("*.page"))

    def words(self) -> memoryview:
        """Its one page as it is now, in words."""
        (page,) = self.pages()
        return memoryview(page.read_bytes()).cast("Q")

    def phase(self, slot: int = 0) -> str:
        """The phase of a slot's thread."""
        word = self.words()[(layout.SLOTS_AT + slot * layout.SLOT_SIZE) // 8]
        return layout.PHASES[word & 0xFF]

    def end(self) -> int:
        """Wait for its end, and return its exit status."""
        return self.process.wait(60)


@contextlib.contextmanager
def job(
    code: str,
    *,
    before: tuple[str, ...] = (),
    python: str = sys.executable,
    **environment: str,
) -> Iterator[Job]:
    """Run code after the probe has been attached; in the end the process is killed.

    Args:
        code: has ``gputop``, ``attached`` and ``say``.
        before: command to run it under.
        python: interpreter.
        environment: added to this process's own.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        runtime = Path(folder)
        environ = {**os.environ, "XDG_RUNTIME_DIR": folder, **environment}
        process = subprocess.Popen(
            [*before, python, "-c", _BEGIN.format(folder=str(FOLDER)) + code],
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        try:
            yield Job(process, runtime)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def reading_of(pid: int) -> ProbeReading:
    """What the monitor reads of that process now."""
    found = owner_of("", pid)
    assert found
    reader = find_page("", found[0])
    assert reader, "it has no page"
    try:
        return reader.read(time.monotonic_ns())
    finally:
        reader.close()
