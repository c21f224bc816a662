"""Descriptors and /dev/shm of ranks: real processes, and trees of other kernels and other owners."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gputop.probes.model.process_readings import LimitsReading
from gputop.probes.sources.processes.limits import LimitsSource
from gputop.probes.sources.procfs.files import read_file
from gputop.probes.sources.procfs.text import parse_stat
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax open files            {soft}  4096  files\n"
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = [open("/dev/null") for _ in range(20)]
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def rank() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child.pid


def read(root: Path, pid: int, started: float) -> tuple[LimitsReading, ...]:
    watchlist = Watchlist()
    watchlist.set_ranks({pid: started})
    return LimitsSource(watchlist, root).read()


def started(pid: int) -> float:
    stat = parse_stat(read_file(f"/proc/{pid}/stat"))
    assert stat is not None
    return stat.start_time_seconds


def test_a_real_process(rank: int) -> None:
    (found,) = read(Path("/"), rank, started(rank))
    assert found.open_files == len(os.listdir(f"/proc/{rank}/fd"))  # noqa: PTH208
    assert found.open_files >= 23
    assert (found.open_files_limit, found.missing) == (64, {})
    shm = os.statvfs("/dev/shm")
    assert found.shm_total_bytes == shm.f_blocks * shm.f_frsize
    assert found.shm_free_bytes is not None


def test_another_process_of_that_pid_is_not_it(rank: int) -> None:
    assert read(Path("/"), rank, started(rank) - 100) == ()


def test_one_that_has_ended() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert read(Path("/"), ended.pid, 1.0) == ()


@pytest.mark.parametrize(
    ("soft", "limit", "reason"),
    [("1024", 1024, False), ("unlimited", None, False), ("?", None, True)],
)
def test_what_limits_say(tmp_path: Path, soft: str, limit: int | None, reason: bool) -> None:
    tree = ProcTree(tmp_path)
    tree.process(80)
    for number in range(5):
        tree.write(f"proc/80/fd/{number}", "")
    tree.write("proc/80/limits", LIMITS.format(soft=soft))
    (found,) = read(tmp_path, 80, 50.0)
    assert found.open_files_limit == limit
    assert ("open_files_limit" in found.missing) is reason
    assert found.missing["shm_total_bytes"] == "the process has no /dev/shm"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_another_users_process_is_missing_with_its_reason(rank: int) -> None:
    began, (ours, theirs) = started(rank), os.pipe()
    child = os.fork()
    if not child:
        os.setresuid(65534, 65534, 65534)
        (found,) = read(Path("/"), rank, began)
        os.write(theirs, msgspec.json.encode(found))
        os._exit(0)
    os.waitpid(child, 0)
    found = msgspec.json.decode(os.read(ours, 65536), type=LimitsReading)
    os.close(ours)
    os.close(theirs)
    assert (found.open_files_limit, found.shm_total_bytes) == (64, None)
    assert "the job's user and to root alone" in found.missing["shm_total_bytes"]
