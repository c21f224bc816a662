"""Loops that look again and again for a file, by their source; and loops that do something else."""

from __future__ import annotations

import os
import textwrap
import time
from pathlib import Path

import pytest

from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.stacks.file_loops import file_loop
from gputop.probes.sources.stacks.program_source import SourceLine
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
    return found.loop.until if found else None


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


LOCKED = {
    "literal": ("def build():\n    while os.path.exists({path!r}):\n        time.sleep(0.2)", 2),
    "variable": (
        "def build():\n    p = {path!r}\n    while os.path.exists(p):\n        time.sleep(0.2)",
        3,
    ),
    "path": (
        "def build():\n    p = Path({path!r})\n    while p.exists():\n        time.sleep(0.2)",
        3,
    ),
    "attribute": (
        (
            "class Baton:\n    file = 3\n    def wait(self):\n"
            "        while os.path.exists(self.lock_file):\n            time.sleep(0.2)\n"
            "def build():\n    b = Baton()\n    b.lock_file = {path!r}\n    b.wait()"
        ),
        4,
    ),
}
"""Programs that wait until a file is gone, and the line of the loop, without the first of the file."""


@pytest.mark.skipif(find_py_spy() is None, reason="needs py-spy")
@pytest.mark.parametrize("kind", LOCKED)
def test_the_loop_and_its_file_of_a_real_process(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "train.py"
    lock = tmp_path / "x.lock"
    lock.touch()
    code, line = LOCKED[kind]
    program = (
        f"import os, time; from pathlib import Path\n{code}\nprint('ready', flush=True)\nbuild()\n"
    )
    script.write_text(program.replace("{path!r}", repr(str(lock))))
    with python(f"exec(compile(open({str(script)!r}).read(), {str(script)!r}, 'exec'))") as pid:
        time.sleep(0.3)
        started, binary = start_time_of(pid), find_py_spy()
        assert started is not None
        assert binary is not None
        reader = StackReader(pid, started, binary)
        found = [reader.take().file_loop for _ in range(3)]
    if os.geteuid() == 0 or any(found):
        loop = next(each for each in found if each is not None)
        assert (loop.until, loop.line) == ("gone", line + 1)
        assert loop.text.startswith("while ")
        assert loop.path == str(lock)


@pytest.mark.parametrize(
    ("code", "names", "literals"),
    [
        ("while os.path.exists(path):\n    time.sleep(1)", ("path",), ()),
        ("while (self.folder / 'lock').exists():\n    time.sleep(1)", ("self",), ("lock",)),
        ("while os.path.exists('/x/lock'):\n    time.sleep(1)", (), ("/x/lock",)),
        ("while Path(name).exists():\n    time.sleep(1)", ("name",), ()),
    ],
)
def test_what_a_loop_looks_at(
    tmp_path: Path, code: str, names: tuple[str, ...], literals: tuple[str, ...]
) -> None:
    path = tmp_path / "train.py"
    path.write_text(code)
    found = file_loop([SourceLine(str(path), 2)], "")
    assert found is not None
    assert (found.names, found.literals) == (names, literals)
