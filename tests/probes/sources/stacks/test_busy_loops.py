"""Loops that only look, or change nothing but variables of their own; and loops that work."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.stacks.busy_loops import busy_loop
from gputop.probes.sources.stacks.program_source import SourceLine
from gputop.probes.sources.stacks.py_spy import find_py_spy
from gputop.probes.sources.stacks.reader import StackReader

from support.ready_process import python


def first_line(tmp_path: Path, code: str) -> str | None:
    """Of the loop without an effect in which the process is; it is where the text has ``HERE``."""
    text = textwrap.dedent(code)
    path = tmp_path / "train.py"
    path.write_text(text)
    at = next(number for number, each in enumerate(text.split("\n"), 1) if "HERE" in each)
    found = busy_loop([SourceLine(str(path), at)], "")
    return found.text if found else None


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass  # HERE",
        "while not done.is_set():\n    continue  # HERE",
        "while queue.empty():\n    pass  # HERE",
        "while number:\n    number = number % 1000003 + 1  # HERE",
        "while loss.item() > 0.1:\n    loss = loss * 1.0  # HERE",
        """
        while not request.is_completed():
            try:
                value = int(text)  # HERE
            except ValueError:
                continue
        """,
        "while True:\n    if worker.is_alive():  # HERE\n        continue\n    return",
    ],
)
def test_a_loop_without_an_effect(tmp_path: Path, code: str) -> None:
    assert str(first_line(tmp_path, code)).startswith("while ")


@pytest.mark.parametrize(
    "code",
    [
        "while heap:\n    rows.append(heappop(heap))  # HERE",
        "while number < 10:\n    number += 1  # HERE",
        "while True:\n    number += 1  # HERE\n    if number > bound:\n        break",
        "while time.monotonic() < ended:\n    number = number * 31 % 7  # HERE",
        "while True:\n    table[key] = key  # HERE",
        "while True:\n    self.count = self.count + 1  # HERE",
        "while True:\n    value = train_step(value)  # HERE",
        "while True:\n    value = yield value  # HERE",
        "for number in range(10**12):\n    value = number  # HERE",
        "while True:\n    for row in rows:\n        value = row  # HERE",
        "value = sum(range(10**12))  # HERE",
        "while True: (  # HERE",
    ],
)
def test_a_loop_that_does_something_or_ends(tmp_path: Path, code: str) -> None:
    assert first_line(tmp_path, code) is None


def test_of_a_real_process(tmp_path: Path) -> None:
    binary = find_py_spy()
    if binary is None:
        pytest.skip("needs py-spy")
    script = tmp_path / "train.py"
    script.write_text(
        "import threading\n"
        "def wait(done):\n"
        "    while not done.is_set():\n"
        "        pass\n"
        "print('ready', flush=True)\n"
        "wait(threading.Event())\n"
    )
    with python(f"exec(compile(open({str(script)!r}).read(), {str(script)!r}, 'exec'))") as pid:
        started = start_time_of(pid)
        assert started is not None
        reader = StackReader(pid, started, binary)
        found = [reader.take() for _ in range(4)]
    loops = [each.busy_loop for each in found if each.busy_loop]
    refused = all(each.refusal or not each.main_stacks for each in found)
    assert refused or (loops[0].text, loops[0].line) == ("while not done.is_set()", 3)
    assert not any(each.file_loop for each in found)
