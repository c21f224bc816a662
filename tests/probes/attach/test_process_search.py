"""Real processes by their command line, and the tree below one."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator

import psutil
import pytest

from gputop.probes.attach.process_search import pids_named, processes_below
from gputop.probes.sources.procfs.target import start_time_of

from support.ready_process import SLEEPS, ready

STARTS_TWO = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
input()
"""
STARTS_ONE = """
import subprocess, sys
child = subprocess.Popen(["sleep", "60"])
print("ready", flush=True)
child.wait()
"""


@pytest.fixture
def name() -> str:
    """Found in no other command line of this machine."""
    return f"gputop-test-{uuid.uuid4().hex}"


@pytest.fixture
def tree() -> Iterator[psutil.Process]:
    """A Python that has started a Python that has started another program."""
    command = [sys.executable, "-c", STARTS_TWO, STARTS_ONE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        top = psutil.Process(program.pid)
        below = top.children(recursive=True)
        yield top
        for each in (top, *below):
            each.kill()


def test_launchers_come_first_then_the_oldest_python(name: str) -> None:
    python = [sys.executable, "-c", SLEEPS, name]
    launcher = ["bash", "-c", 'exec -a torchrun "$@"', "bash", sys.executable, "-c", SLEEPS, name]
    with ready(python) as old, ready(python) as young, ready(launcher) as torchrun:
        assert pids_named(name) == [torchrun, old, young]
        assert pids_named(name.replace("test", "te[rs]t") + "$") == [torchrun, old, young]
        assert pids_named(f"no {name}") == []


def test_other_programs_count_where_there_is_no_python(name: str) -> None:
    edits = ["sed", "-u", "s/x/ready/;tx;:x;p;s/.*/y/", "-", name]
    with subprocess.Popen(edits, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as editor:
        assert pids_named(name) == [editor.pid]
        with ready([sys.executable, "-c", SLEEPS, name]) as python:
            assert pids_named(name) == [python]
        editor.kill()


def test_a_tree_is_found_from_the_top_down(tree: psutil.Process) -> None:
    start = start_time_of(tree.pid)
    assert start is not None
    (child,) = tree.children()
    (grandchild,) = child.children()
    found = processes_below(tree.pid, start)
    assert [each.pid for each in found] == [child.pid, grandchild.pid]
    assert [each.start_time_seconds for each in found] == [
        start_time_of(child.pid),
        start_time_of(grandchild.pid),
    ]
    assert processes_below(grandchild.pid, found[1].start_time_seconds) == []


def test_of_another_process_with_that_pid_nothing_is_found(tree: psutil.Process) -> None:
    start = start_time_of(tree.pid)
    assert start is not None
    assert processes_below(tree.pid, start - 1.0) == []


def test_below_one_that_has_ended_there_is_nothing() -> None:
    with subprocess.Popen(["sleep", "60"]) as program:
        start = start_time_of(program.pid)
        assert start is not None
        program.kill()
    assert processes_below(program.pid, start) == []
