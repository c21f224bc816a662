"""Shares of phases from many stacks: ``py-spy record`` for one second at a time, one process after the other.

It prints only at its end, so a live share takes many short runs, at about 3 % of a core. It reads without
stopping the target, as the dumps do.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...attribution.stack_phase import phase_of
from ...model.rank_readings import Stack, StackFrameReading
from .lower_priority import lower_priority

RATE = 20
KEPT_SAMPLES = 240
KEPT_SECONDS = 180.0
PATIENCE_SECONDS = 6.0
_OUTPUT_BYTES = 1 << 22
_MOST_LINES = 4096
_MOST_FRAMES = 150
_THREAD = re.compile(r"thread \((?:0x)?([0-9A-Fa-f]+)\)(?:: ([^;]*))?;(.*)")
_FRAME = re.compile(r"(.+?) \((.*?)(?::(\d{1,9}))?\)")

_PAIRWISE = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv"})
_DISTRIBUTED = ("torch/distributed/distributed_c10d.py", "p2p_communication.py")


class Sampled(NamedTuple):
    """Of one process, so far or in one run."""

    phases: Counter[str]
    pairwise: int = 0
    """Samples inside a send or receive between two ranks."""
    runs: int = 1
    mixed: int = 0
    """Runs in which it was in more than one phase."""


Samples = deque[tuple[float, Sampled]]


class Recorder:
    """Runs of one second, each watched from tick to tick and never waited for.

    Args:
        binary: path of py-spy.
        main_tid: number of a process as it sees itself.
    """

    def __init__(self, binary: str, main_tid: Callable[[int], int]) -> None:
        self._binary = binary
        self._main_tid = main_tid
        self._samples: dict[int, Samples] = {}
        self._run: _Run | None = None
        self._last: dict[int, float] = {}

    def tick(self, wanted: Sequence[int]) -> Mapping[int, Sampled]:
        """Take in what has ended, start the next; samples of each process so far."""
        now = time.monotonic()
        if self._run is not None and self._run.ended(now):
            stacks = self._run.take()
            counts = phases_of(stacks)
            if counts:
                taken = Sampled(counts, pairwise_of(stacks), mixed=int(len(counts) > 1))
                self._samples.setdefault(self._run.pid, deque()).append((now, taken))
            self._run = None
        self._forget(wanted, now)
        if self._run is None and wanted:
            pid = min(wanted, key=lambda each: self._last.get(each, 0.0))
            self._last[pid] = now
            with contextlib.suppress(OSError):  # the dumps tell why it does not start
                self._run = _Run(self._binary, pid, self._main_tid(pid), now)
        return {pid: _sum(samples) for pid, samples in self._samples.items()}

    def close(self) -> None:
        """End a run that is going on."""
        if self._run is not None:
            self._run.kill()
            self._run = None

    def _forget(self, wanted: Sequence[int], now: float) -> None:
        for pid, samples in list(self._samples.items()):
            while samples and (
                now - samples[0][0] > KEPT_SECONDS
                or _sum(samples).phases.total() - samples[0][1].phases.total() >= KEPT_SAMPLES
            ):
                samples.popleft()
            if not samples:
                del self._samples[pid]
        for pid in self._last.keys() - set(wanted):
            del self._last[pid]


class _Run:
    """One child."""

    def __init__(self, binary: str, pid: int, main_tid: int, now: float) -> None:
        """
        Raises:
            OSError: when it cannot be started.
        """
        self.pid = pid
        self._main_tid = main_tid
        self._deadline = now + PATIENCE_SECONDS
        self._output = os.memfd_create("stacks", os.MFD_CLOEXEC)
        try:
            self._process = subprocess.Popen(
                [
                    *(binary, "record", "--pid", str(pid), "--duration", "1", "--rate", str(RATE)),
                    *("--nonblocking", "--idle", "--threads", "--format", "raw"),
                    *("--output", f"/proc/self/fd/{self._output}"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(self._output,),
                start_new_session=True,
            )
        except OSError:
            os.close(self._output)
            raise
        lower_priority(self._process.pid)

    def ended(self, now: float) -> bool:
        """Whether it has, by itself or for taking too long."""
        if self._process.poll() is not None:
            return True
        if now > self._deadline:
            self._process.kill()
        return False

    def take(self) -> list[tuple[Stack, int]]:
        """What it has written; gives its descriptor back."""
        data = os.pread(self._output, _OUTPUT_BYTES, 0)
        os.close(self._output)
        return decode_raw(data, self._main_tid)

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        os.close(self._output)


def decode_raw(data: bytes, main_tid: int) -> list[tuple[Stack, int]]:
    """Stacks of the main thread with their counts; lines that are not as expected are left out."""
    found: list[tuple[Stack, int]] = []
    for line in data.decode("utf-8", "replace").splitlines()[:_MOST_LINES]:
        text, _, count = line.rpartition(" ")
        parts = _THREAD.fullmatch(text)
        if parts is None or not count.isdecimal() or len(count) > 6:
            continue
        if parts[1] == str(main_tid) or (parts[2] == "MainThread" and "(0x" in text):
            frames = [_FRAME.fullmatch(each) for each in parts[3].split(";")[-_MOST_FRAMES:]]
            stack = tuple(
                StackFrameReading(name=each[1], file=each[2], line=int(each[3] or 0) or None)
                for each in reversed(frames)
                if each is not None
            )
            if stack:
                found.append((stack, int(count)))
    return found


def phases_of(stacks: Iterable[tuple[Stack, int]]) -> Counter[str]:
    """How many samples reported each phase."""
    counts: Counter[str] = Counter()
    for stack, count in stacks:
        counts[phase_of(stack).phase] += count
    return counts


def pairwise_of(stacks: Iterable[tuple[Stack, int]]) -> int:
    """How many samples were inside a send or receive between two ranks."""
    return sum(count for stack, count in stacks if any(map(_is_pairwise, stack)))


def _is_pairwise(frame: StackFrameReading) -> bool:
    return frame.name in _PAIRWISE and frame.file.endswith(_DISTRIBUTED)


def _sum(samples: Samples) -> Sampled:
    phases = sum((each.phases for _, each in samples), Counter[str]())
    return Sampled(
        phases,
        sum(each.pairwise for _, each in samples),
        len(samples),
        sum(each.mixed for _, each in samples),
    )
