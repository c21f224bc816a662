"""Why stacks cannot be had: real refusals of this kernel, and made trees for what it does not have."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gputop.probes.sources.procfs.ptrace_access import (
    ptrace_scope,
    refusal_of_access,
    refusal_of_program,
    refusal_of_target,
)

from fixtures.proc_tree import ProcTree
from support.ready_process import SLEEPS, python

ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="needs root, to become somebody else")
ASK = """
import sys
from gputop.probes.sources.procfs.ptrace_access import refusal_of_access
found = refusal_of_access(int(sys.argv[1]))
print(found.cause if found else None)
"""
NOT_DUMPABLE = """
import ctypes, time
ctypes.CDLL(None).prctl(4, 0)
print("ready", flush=True)
time.sleep(60)
"""


def asked(pid: int, *before: str) -> str:
    """The cause as another process of ours sees it."""
    command = [*before, sys.executable, "-c", ASK, str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_own_processes_are_open() -> None:
    with python(SLEEPS) as pid:
        assert refusal_of_target(pid) is None
        assert refusal_of_program(pid) is None
        if ROOT:
            assert refusal_of_access(pid) is None


def test_one_that_is_not_there() -> None:
    refusal = refusal_of_target(2**22 + 1)
    assert refusal is not None
    assert refusal.cause == "gone"


def test_a_zombie() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    refusal = refusal_of_target(child.pid)
    child.wait()
    assert refusal is not None
    assert refusal.cause == "zombie"


def test_a_thread_of_the_kernel(tmp_path: Path) -> None:
    tree = ProcTree(tmp_path)
    tree.process(2, flags=0x00200000)
    refusal = refusal_of_target(2, tmp_path)
    assert refusal is not None
    assert refusal.cause == "kernel thread"


def test_no_python() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    time.sleep(0.1)
    refusal = refusal_of_program(sleeper.pid)
    sleeper.send_signal(signal.SIGKILL)
    sleeper.wait()
    assert refusal is not None
    assert (refusal.cause, "sleep" in refusal.reason) == ("not Python", True)


@pytest.mark.parametrize(
    ("head", "name", "cause"),
    [(b"\x7fELF\x01", "python3", "32-bit"), (b"\x7fELF\x02", "pypy3.10", "PyPy")],
)
def test_programs_that_py_spy_does_not_know(
    tmp_path: Path, head: bytes, name: str, cause: str
) -> None:
    tree = ProcTree(tmp_path)
    tree.process(7)
    tree.write(f"bin/{name}", head)
    tree.write("proc/7/maps", "")
    (tmp_path / "proc/7/exe").symlink_to(tmp_path / "bin" / name)
    refusal = refusal_of_program(7, tmp_path)
    assert refusal is not None
    assert refusal.cause == cause


@as_root
def test_another_users_process() -> None:
    with python(SLEEPS) as pid:
        assert asked(pid, "setpriv", "--reuid=65534", "--clear-groups") == "other user"


@as_root
def test_one_that_does_not_let_itself_be_inspected() -> None:
    user = ("setpriv", "--reuid=65534", "--clear-groups")
    with python(NOT_DUMPABLE, *user) as pid:
        assert asked(pid, *user) == "not dumpable"
        assert asked(pid) == "None"


@as_root
def test_root_without_the_capability() -> None:
    without = ("setpriv", "--bounding-set=-sys_ptrace")
    with python(SLEEPS) as pid:
        assert asked(pid, *without) == "capability"


@as_root
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_target_in_a_namespace_below_is_open() -> None:
    with python(SLEEPS, "unshare", "--user", "--map-root-user") as pid:
        assert refusal_of_access(pid) is None


@pytest.mark.parametrize(("scope", "cause"), [(0, None), (1, "ptrace scope"), (3, "ptrace scope")])
def test_yama(tmp_path: Path, scope: int, cause: str | None) -> None:
    tree = ProcTree(tmp_path)
    mine = os.stat(tmp_path).st_uid  # noqa: PTH116 - files made here are ours
    tree.process(7, uid=mine)
    tree.write("proc/self/status", f"Uid:\t{mine}\t{mine}\t{mine}\t{mine}\nCapEff:\t0\n")
    tree.write("proc/sys/kernel/yama/ptrace_scope", f"{scope}\n")
    refusal = refusal_of_access(7, tmp_path)
    assert (refusal.cause if refusal else None) == cause
    assert ptrace_scope(tmp_path) == scope
    if scope == 1:
        assert "sudo sysctl kernel.yama.ptrace_scope=0" in str(refusal)
