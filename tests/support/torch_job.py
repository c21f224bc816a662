"""Training jobs run to their end in forks of a process that has torch, and the pages that they leave."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from gputop.probes.inprocess import layout

from support.torch_python import TORCH_PYTHON

_TESTS = Path(__file__).parents[1]
JOBS = _TESTS / "jobs"
EXAMPLES = _TESTS / "examples"
_PACKAGE = _TESTS.parent / "probes"
SECONDS = 300


class Pause(NamedTuple):
    """A part of a job that took a known time. Nanoseconds."""

    moment: int
    phase: str
    duration: int


class Page:
    """A state page as it was at the end of its process."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.words = memoryview(content).cast("Q")

    def _newest(self, at: int, size: int) -> bytes:
        found = layout.newest(self.content[at : at + size], self.content[at + size : at + 2 * size])
        return found[1] if found else b""

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self._newest(layout.FACTS_AT, layout.FACTS_SIZE))
        return facts

    @property
    def gauges(self) -> dict[str, Any]:
        found = self._newest(layout.GAUGES_AT, layout.GAUGES_SIZE)
        gauges: dict[str, Any] = json.loads(found or b"{}")
        return gauges

    @property
    def newest(self) -> layout.Step:
        """The last step, with the sums up to it."""
        step = layout.unpack_step(self._newest(layout.NEWEST_AT, layout.STEP_SIZE))
        assert step, "no step has ended"
        return step

    @property
    def evaluations(self) -> int:
        """How many have begun."""
        return self.words[layout.EVALUATIONS_AT // 8]

    @property
    def steps(self) -> list[layout.Step]:
        """All that are still there, in order."""
        found: list[layout.Step] = []
        for index in range(layout.STEPS):
            at = layout.STEPS_AT + index * layout.STEP_SIZE
            record = layout.unrecord(self.content[at : at + layout.STEP_SIZE])
            step = layout.unpack_step(record[1]) if record else None
            if step:
                found.append(step)
        return sorted(found, key=lambda step: step.number)

    def totals(self, slot: int = 0) -> dict[str, int]:
        """Exclusive nanoseconds of a slot's thread, by phase."""
        at = (layout.SLOTS_AT + slot * layout.SLOT_SIZE + layout.SLOT_TOTALS) // 8
        spent = self.words[at : at + len(layout.PHASES)].tolist()
        return {name: time for name, time in zip(layout.PHASES, spent, strict=True) if time}

    def group(self, number: int) -> tuple[int, int, str]:
        """Collectives launched and returned, and the newest one's name."""
        at = (layout.GROUPS_AT + number * layout.GROUP_SIZE) // 8
        launched, returned, word = self.words[at : at + 3].tolist()
        return launched, returned, layout.OPERATIONS[word & 0xFF]


class Done(NamedTuple):
    """A job that has ended."""

    status: int
    output: str
    errors: str
    pages: list[Page]
    """By rank."""
    pauses: list[list[Pause]]

    @property
    def page(self) -> Page:
        """Of rank 0."""
        return self.pages[0]


class _Server:
    """The process whose forks run the jobs."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [TORCH_PYTHON, str(JOBS / "server.py"), str(_PACKAGE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "CUDA_VISIBLE_DEVICES": "",
                "DS_ACCELERATOR": "cpu",
            },
        )
        atexit.register(self.end)

    def run(self, request: dict[str, object]) -> list[int]:
        """The exit statuses of its ranks."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        if not select.select([stdout], [], [], SECONDS)[0]:
            self.end()
            raise TimeoutError(f"{request['script']} has not ended in {SECONDS} s")
        statuses: list[int] = json.loads(stdout.readline())
        return statuses

    def end(self) -> None:
        """Kill it, and the jobs with it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        _server.cache_clear()


@functools.cache
def _server() -> _Server:
    return _Server()


def run(
    script: Path,
    *arguments: str,
    probe: bool = True,
    ranks: int = 1,
    preload: tuple[str, ...] = (),
    **environment: str,
) -> Done:
    """Run a script to its end in a process where torch is imported.

    Args:
        script: to run.
        arguments: for it.
        probe: with the probe in it.
        ranks: so many processes, reported of each other as torchrun does.
        preload: modules imported in the process that it is forked from, and kept there.
        environment: added to this process's own.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm") as out:
        statuses = _server().run(
            {
                "script": str(script),
                "arguments": arguments,
                "watched": probe,
                "ranks": ranks,
                "preload": preload,
                "out": out,
                "environment": {"XDG_RUNTIME_DIR": out, "PADDED_OUT": out, **environment},
            }
        )
        folder = Path(out)
        return Done(
            max(statuses, key=abs),
            "".join(path.read_text() for path in sorted(folder.glob("*.out"))),
            "".join(path.read_text() for path in sorted(folder.glob("*.err"))),
            [Page(path.read_bytes()) for path in sorted(folder.glob("*.page"))],
            [
                [Pause(*each) for each in json.loads(path.read_text())]
                for path in sorted(folder.glob("*.json"))
            ],
        )


def shares(steps: list[layout.Step], pauses: list[Pause]) -> dict[str, tuple[float, float]]:
    """Of each phase its share of a step's time: as reported in it, and as it truly was.

    Of all those steps, the one in the middle by the difference: now and then, the machine is not there.
    """
    each = [_shares(step, pauses) for step in steps]
    found: dict[str, tuple[float, float]] = {}
    for phase in {phase for step in each for phase in step}:
        values = [step.get(phase, (0.0, 0.0)) for step in each]
        values.sort(key=lambda value: value[0] - value[1])
        found[phase] = values[len(values) // 2]
    return found


def _shares(step: layout.Step, pauses: list[Pause]) -> dict[str, tuple[float, float]]:
    reported = {layout.PHASES[code]: host / step.duration for code, host, _ in step.phases}
    true: dict[str, float] = {}
    for pause in pauses:
        if step.ended - step.duration <= pause.moment < step.ended:
            true[pause.phase] = true.get(pause.phase, 0.0) + pause.duration / step.duration
    return {name: (reported.get(name, 0.0), true.get(name, 0.0)) for name in reported | true}


def explain(done: Done) -> str:
    """What to look at when a job has not done what it should."""
    return "\n".join([f"exit {done.status}", done.output[-2000:], done.errors[-4000:]])
