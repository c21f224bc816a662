"""Loops that look again and again for a file, by their source; and loops that do something else."""

from __future__ import annotations

import os
import textwrap
import time
from pathlib import Path

import pytest

from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.stacks.file_loops import SourceLine, file_loop
from gputop.probes.sources.stacks.py_spy import find_py_spy
from gputop.probes.sources.stacks.reader import StackReader

from support.ready_process import python


def until(tmp_path: Path, code: str, line: int | None = None) -> str | None:
    """What the loop goes on for; the process is where the text has ``sleep``, or in that line."""
    text = textwrap.dedent(code)
    path = tmp_path / "train.py"
    path.write_text(text)
    at = next(number for number, each in enumerate(text.split("\n"), 1) if "sleep" in each)
    found = file_loop([SourceLine(str(path), line or at)], "")
    return found.until if found else None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("while path.exists():\n    time.sleep(1)", "gone"),
        ("while os.path.isfile(lock) and tries:\n    time.sleep(1)", "gone"),
        ("while not os.path.exists(marker):\n    time.sleep(1)", "there"),
        ("while True:\n    if os.path.exists(m):\n        break\n    time.sleep(1)", "there"),
        ("while True:\n    if not lock.is_file():\n        return\n    time.sleep(1)", "gone"),
        (
            """
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    time.sleep(0.05)
            """,
            "locked",
        ),
        (
            """
            for _ in range(1000):
                try:
                    os.open(lock, os.O_CREAT | os.O_EXCL)
                    break
                except OSError:
                    time.sleep(0.05)
            """,
            "locked",
        ),
        (
            """
            while True:
                try:
                    os.mkdir(lock)
                    break
                except FileExistsError:
                    time.sleep(0.05)
            """,
            "locked",
        ),
        # The innermost loop that looks for a file, in whatever it lies.
        (
            """
            for epoch in range(10):
                for batch in loader:
                    while path.exists():
                        time.sleep(1)
            """,
            "gone",
        ),
        # None of these waits for a file.
        ("while not done:\n    time.sleep(1)", None),
        ("while queue.empty():\n    time.sleep(1)", None),
        ("for batch in loader:\n    train(batch)\n    time.sleep(0.1)", None),
        (
            "while True:\n    with open(log, 'a') as f:\n        f.write('x')\n    time.sleep(1)",
            None,
        ),
        ("if path.exists():\n    time.sleep(1)", None),
        ("while path.exists(:\n    time.sleep(1)", None),
    ],
)
def test_what_a_loop_goes_on_for(tmp_path: Path, code: str, expected: str | None) -> None:
    assert until(tmp_path, code) == expected


def test_only_the_loop_around_the_line_counts(tmp_path: Path) -> None:
    code = "while path.exists():\n    time.sleep(1)\ntrain()\n"
    assert until(tmp_path, code, 3) is None


def test_a_source_that_is_not_there_tells_nothing() -> None:
    assert file_loop([SourceLine("/nowhere/train.py", 3)], "") is None


@pytest.mark.skipif(find_py_spy() is None, reason="needs py-spy")
def test_of_a_real_process_by_its_stack(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    lock = tmp_path / "lock"
    lock.touch()
    script.write_text(
        "import os, time\n"
        "def build():\n"
        f"    while os.path.exists({str(lock)!r}):\n"
        "        time.sleep(0.2)\n"
        "print('ready', flush=True)\n"
        "build()\n"
    )
    with python(f"exec(compile(open({str(script)!r}).read(), {str(script)!r}, 'exec'))") as pid:
        time.sleep(0.3)
        started, binary = start_time_of(pid), find_py_spy()
        assert started is not None
        assert binary is not None
        reader = StackReader(pid, started, binary)
        found = [reader.take().file_loop for _ in range(3)]
    if os.geteuid() == 0 or any(found):
        loop = next(each for each in found if each is not None)
        assert (loop.until, loop.line) == ("gone", 3)
        assert loop.text.startswith("while os.path.exists(")
