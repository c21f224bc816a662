"""Threads that by their source hand nothing over, and threads that may."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from gputop.probes.model.rank_readings import StackReading
from gputop.probes.sources.procfs.target import start_time_of
from gputop.probes.sources.stacks.handing_over import hands_over
from gputop.probes.sources.stacks.program_source import SourceLine
from gputop.probes.sources.stacks.py_spy import find_py_spy
from gputop.probes.sources.stacks.reader import StackReader

from support.ready_process import python

THREADING = SourceLine("/usr/lib/python3/threading.py", 900)


def told(tmp_path: Path, code: str) -> bool | None:
    """Of a thread that is where the text has ``HERE``."""
    text = textwrap.dedent(code)
    path = tmp_path / "train.py"
    path.write_text(text)
    at = next(number for number, each in enumerate(text.split("\n"), 1) if "HERE" in each)
    return hands_over([SourceLine(str(path), at), THREADING], "")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def beats():\n    while True:\n        time.sleep(1)  # HERE", False),
        ("def beats():\n    path.touch()\n    stop.wait(9)  # HERE", False),
        ("def fills():\n    time.sleep(300)  # HERE\n    tasks.put('go')", True),
        ("def fills():\n    stop.wait(300)  # HERE\n    self.ready.set()", True),
        (
            """
            def beats():
                time.sleep(1)  # HERE
                tell()

            def tell():
                deeper()

            def deeper():
                done.notify_all()
            """,
            True,
        ),
        ("time.sleep(1)  # HERE", None),
        ("def broken(:  # HERE", None),
    ],
)
def test_by_what_its_functions_call(tmp_path: Path, code: str, expected: bool | None) -> None:
    assert told(tmp_path, code) is expected


def test_one_that_only_waits_in_threading_hands_nothing_over() -> None:
    assert hands_over([THREADING], "") is False


def test_a_source_that_is_not_there_tells_nothing() -> None:
    assert hands_over([SourceLine("/nowhere/train.py", 3)], "") is None


PROGRAM = """
import queue, socket, threading, time

def beats():
    while True:
        time.sleep(0.05)

def schedules():
    time.sleep(300)
    tasks.put(1)

def serves():
    socket.create_server(("127.0.0.1", 0)).accept()

tasks = queue.Queue()
for work in (beats, schedules, serves):
    threading.Thread(target=work, name=work.__name__, daemon=True).start()
print("ready", flush=True)
tasks.get()
"""


def test_the_threads_of_a_real_process_while_its_main_one_waits_for_them(tmp_path: Path) -> None:
    binary = find_py_spy()
    if binary is None:
        pytest.skip("needs py-spy")
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    with python(f"exec(compile(open({str(script)!r}).read(), {str(script)!r}, 'exec'))") as pid:
        started = start_time_of(pid)
        assert started is not None
        reader = StackReader(pid, started, binary)
        readings: list[StackReading] = [reader.take() for _ in range(5)]
    whole = [each for each in readings if len(each.threads) == 4]
    assert whole or all(each.refusal or not each.main_stacks for each in readings)
    for reading in whole:
        told = {each.name: each.hands_over for each in reading.threads if not each.main}
        assert told["schedules"] is True
        assert told["serves"] is True
        assert told["beats"] is False
