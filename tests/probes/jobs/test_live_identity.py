"""Ranks among real processes of this machine: titled, without variables, and two jobs started by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from gputop.probes.attach.job_scan import jobs_here
from gputop.probes.model.job_frames import JobFrame

RANK = '''
import ctypes, sys, threading, time

def set_title(title):
    """As setproctitle does it: over the arguments and the environment."""
    words = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end = int(words[45]), int(words[48])
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, title.encode(), len(title))

def run():
    ctypes.CDLL(None).prctl(15, b"pt_gloo_runloop", 0, 0, 0)
    time.sleep(60)

threading.Thread(target=run, daemon=True).start()
for title in sys.argv[1:]:
    set_title(title)
print("ready\\n", end="", flush=True)  # in one write, also where nothing is buffered
time.sleep(60)
'''


@contextmanager
def started(starter: str, *, executable: str | None = None, ranks: int) -> Generator[int]:
    """A shell that starts ranks, with Python as ``$P`` and the code of one as ``$R``; its pid."""
    plain = {name: value for name, value in os.environ.items() if "RANK" not in name}
    shell = subprocess.Popen(
        [executable or "bash", "-c", f"{starter}\nwait"],
        executable="/bin/bash",
        env={**plain, "P": sys.executable, "R": RANK},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert shell.stdout is not None
        assert [shell.stdout.readline() for _ in range(ranks)] == ["ready\n"] * ranks
        yield shell.pid
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()


def below(pid: int, wanted: Callable[[list[JobFrame]], bool]) -> list[JobFrame]:
    """The jobs that a shell started, once they are as wanted."""
    found: list[JobFrame] = []
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = [
            job for job in jobs_here() if all(_group_of(rank.pid) == pid for rank in job.ranks)
        ]
        if wanted(found):
            return found
        time.sleep(0.2)
    raise AssertionError(found)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def numbers(jobs: list[JobFrame]) -> list[list[int | None]]:
    return [[rank.rank for rank in job.ranks] for job in jobs]


def test_actors_below_a_raylet() -> None:
    start = '"$P" -c "$R" ray::Train.run & "$P" -c "$R" ray::Train & '
    with started(start, executable="raylet", ranks=2) as pid:
        (job,) = below(pid, lambda jobs: numbers(jobs) == [[None, None]])
        assert (job.name, job.world_size, job.launcher_pid) == ("ray::Train", None, pid)
        assert job.ranks[0].missing["rank"] == "a title was written over its environment"


def test_workers_whose_titles_tell_their_ranks() -> None:
    start = "import subprocess, sys, time; "
    start += "[subprocess.Popen([sys.executable, '-c', sys.argv[1], f'VLLM::Worker_TP{n}']) for n in (1, 0)]; "
    with started(f'"$P" -c "{start}time.sleep(60)" "$R" & ', ranks=2) as pid:
        (job,) = below(pid, lambda jobs: numbers(jobs) == [[0, 1]])
        assert len(job.ranks) == 2


@pytest.mark.parametrize("title", ["", "ray::train"])
def test_two_jobs_of_one_shell(title: str) -> None:
    starter = "".join(
        f"RANK={rank} WORLD_SIZE=2 MASTER_ADDR=here MASTER_PORT={port} "
        f'bash -c \'exec {f"-a {title} " if title else ""}"$P" -c "$R"\' & '
        for port in (1, 2)
        for rank in (0, 1)
    )
    with started(starter, ranks=4) as pid:
        jobs = below(pid, lambda jobs: len(jobs) == 2)
        assert numbers(jobs) == [[0, 1], [0, 1]]
        assert len({job.id for job in jobs}) == 2


def test_a_helper_of_a_rank_that_lives_on_its_own() -> None:
    starter = 'export RANK=0 WORLD_SIZE=2 MASTER_ADDR=here MASTER_PORT=1; "$P" -c "$R" & '
    helper = "import time; print('ready\\n', end='', flush=True); time.sleep(60)"
    starter += f'("$P" -m timeit -n 1 -s "{helper}" & ); RANK=1 "$P" -c "$R" & '
    with started(starter, ranks=3) as pid:
        assert numbers(below(pid, lambda jobs: numbers(jobs) == [[0, 1]])) == [[0, 1]]
