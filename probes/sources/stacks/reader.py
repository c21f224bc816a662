"""Dumps of one process, with the truth about each: whole, inconsistent or refused, and why."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from ...model.rank_readings import (
    DUMPS,
    DUMPS_SECONDS,
    BusyLoop,
    FileLoop,
    Stack,
    StackReading,
    StackThreadReading,
)
from ..procfs.files import read_file
from ..procfs.ptrace_access import (
    Refusal,
    is_named_python,
    refusal_of_access,
    refusal_of_program,
    refusal_of_target,
)
from ..procfs.text import Stat, parse_stat, parse_status, same_start
from .decode import decode_dump
from .py_spy import TIMEOUT_SECONDS, Output, run_py_spy
from .source_witness import SourceWitness

_MOST_THREADS = 1024
_MOST_CHARS = 200
_DENIED = ("permission denied", "operation not permitted", "os error 13", "os error 1)")
_NOT_PYTHON = ("failed to find python version", "not a python process", "find a python interpreter")

Run = Callable[..., Output]


class StackReader:
    """Takes dumps of one process, one at a time.

    Args:
        pid: the process as it is numbered here.
        start_time_seconds: of that very process.
        binary: path of py-spy.
        root: of the file system with ``proc`` in it.
        run: what starts py-spy.
    """

    def __init__(
        self,
        pid: int,
        start_time_seconds: float,
        binary: str,
        root: Path = Path("/"),
        run: Run = run_py_spy,
    ) -> None:
        self._proc = root / "proc" / str(pid)
        self._root = root
        self._binary = binary
        self._run = run
        self._dumps_text: deque[tuple[float, Stack]] = deque(maxlen=DUMPS)
        self._own_tids: dict[int, int] = {}
        self._failures = 0
        self._failure = ""
        self._loop: FileLoop | None = None
        self._busy_loop: BusyLoop | None = None
        self._sources = SourceWitness(self._proc, self._tid_here, self._with_variables)
        self.reading = StackReading(
            monotonic_seconds=0.0, pid=pid, start_time_seconds=start_time_seconds
        )

    def take(self) -> StackReading:
        """One dump more; the target is not stopped for it."""
        began = time.monotonic()
        self._failure = ""
        dump = self._dump()
        if not self._is_the_same():
            dump = Refusal("gone", f"there is no process {self.reading.pid} any more")
        now = time.monotonic()
        last, refusal = self.reading, ""
        threads = last.threads
        main: Stack = ()
        if isinstance(dump, Refusal):
            refusal, threads = str(dump), ()
        elif dump is not None:
            threads = tuple(map(self._judged, dump))
            main = next((thread.frames for thread in threads if thread.main), ())
        if main:
            self._dumps_text.append((now, main))
        self._failures = 0 if main else self._failures + 1
        dumps = tuple(stack for at, stack in self._dumps_text if now - at <= DUMPS_SECONDS)
        self.reading = replace(
            last,
            monotonic_seconds=now,
            threads=threads,
            main_stacks=() if refusal else dumps,
            taken=last.taken + 1,
            inconsistent_dumps=last.inconsistent_dumps + (not main and not refusal),
            refusal=refusal,
            failure=self._failure,
            duration_seconds=now - began,
            state_after=self._state(),
            file_loop=self._loop if main else None,
            busy_loop=self._busy_loop if main else None,
        )
        return self.reading

    def _is_the_same(self) -> bool:
        """Whether the pid still means the process that was to be dumped: it may have come back."""
        stat = self._stat()
        return stat is None or same_start(stat.start_time_seconds, self.reading.start_time_seconds)

    def _dump(self) -> tuple[StackThreadReading, ...] | Refusal | None:
        """The threads; why there never will be any; ``None``: this one did not succeed."""
        pid = self.reading.pid
        refusal = refusal_of_target(pid, self._root)
        if refusal is None and not self._dumps_text and not is_named_python(pid, self._root):
            # py-spy would take far longer to say so.
            refusal = refusal_of_program(pid, self._root)
        if refusal is not None:
            return refusal
        try:
            output = self._run(self._binary, "dump", "--json", "--nonblocking", "--pid", str(pid))
        except OSError as error:
            return Refusal("no binary", f"py-spy does not start ({error.strerror})", REINSTALL)
        if output.code != 0:
            return self._refusal(output)
        threads = decode_dump(output.out, self.main_tid())
        self._loop = self._busy_loop = None
        if threads is None:
            return self._again(f"{self._binary} prints no stacks: is it py-spy?")
        if not any(thread.frames for thread in threads):
            self._failure = "py-spy found no stack in it"
            return None
        found = self._sources.look(threads, output.out, self.main_tid(), self._state())
        self._loop, self._busy_loop = found.file_loop, found.busy_loop
        return found.threads

    def _with_variables(self) -> Output:
        pid = str(self.reading.pid)
        return self._run(self._binary, "dump", "--json", "--nonblocking", "--locals", "--pid", pid)

    def _refusal(self, output: Output) -> Refusal | None:
        pid, words = self.reading.pid, output.errors.lower()
        target = refusal_of_target(pid, self._root)
        if target is not None:
            return target
        if output.code is None:
            return self._again(f"py-spy gave no answer in {TIMEOUT_SECONDS:g} s")
        if any(sign in words for sign in _DENIED):
            return refusal_of_access(pid, self._root) or Refusal(
                "unknown", "the kernel denies access to its memory", f"sudo gputop {pid}"
            )
        program = refusal_of_program(pid, self._root)
        if program is not None:
            return program
        said = _sentence(output.errors) or _ending(output.code)
        if any(sign in words for sign in _NOT_PYTHON):
            # A Python that is just starting has not set itself up either.
            return self._again("py-spy finds no Python in it that it knows")
        return self._again(f"py-spy failed: {said}")

    def _again(self, reason: str) -> Refusal | None:
        """A failure counts as an inconsistent dump until it has happened as often as there are dumps."""
        self._failure = reason
        return Refusal("unknown", reason) if self._failures + 1 >= DUMPS else None

    def main_tid(self) -> int:
        """The process id as the target itself sees it."""
        try:
            pids = parse_status(read_file(self._proc / "status")).namespace_pids
        except OSError:
            pids = ()
        return pids[-1] if pids else self.reading.pid

    def _judged(self, thread: StackThreadReading) -> StackThreadReading:
        """With what the kernel says of whether it runs."""
        tid = thread.os_thread_id
        here = None if tid is None else self._tid_here(tid)
        if here is None:
            return thread
        state = _state_of(self._proc / "task" / str(here))
        return replace(thread, active=None if state is None else state == "R")

    def _tid_here(self, own_tid: int) -> int | None:
        """The number here of a thread that is known by its number in its own namespace."""
        if self.main_tid() == self.reading.pid:
            return own_tid
        if own_tid not in self._own_tids:
            self._own_tids = self._listed_tids()
        return self._own_tids.get(own_tid)

    def _listed_tids(self) -> dict[int, int]:
        found: dict[int, int] = {}
        try:
            folders = list((self._proc / "task").iterdir())[:_MOST_THREADS]
        except OSError:
            return found
        for folder in folders:
            try:
                pids = parse_status(read_file(folder / "status")).namespace_pids
            except OSError:
                continue
            if pids:
                found[pids[-1]] = int(folder.name)
        return found

    def _state(self) -> str | None:
        return _state_of(self._proc)

    def _stat(self) -> Stat | None:
        try:
            return parse_stat(read_file(self._proc / "stat"))
        except OSError:
            return None


REINSTALL = "pip install --force-reinstall py-spy, in the environment of gputop"


def _sentence(errors: str) -> str:
    """What it said, without where in its own code it was and what no terminal shows."""
    said = errors.split("Stack backtrace:")[0]
    return " ".join("".join(filter(str.isprintable, line)) for line in said.split())[:_MOST_CHARS]


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}, and not a word"


def _state_of(folder: Path) -> str | None:
    try:
        stat = parse_stat(read_file(folder / "stat"))
    except OSError:
        return None
    return stat.state if stat else None
