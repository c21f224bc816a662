"""Machines that few have: a clock that is set while we watch, thousands of zombies, /proc that hides others, nowhere to write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.another_user import AS_ANOTHER

LONG_SECONDS = 120.0
GPUTOP = (sys.executable, "-P", "-m", "gputop")
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
static long shift(void) {  /* seconds: the size of a file, less a day */
    struct stat found;
    const char *path = getenv("CLOCK_SHIFT");
    return path && stat(path, &found) == 0 ? (long)found.st_size - 86400 : 0;
}
int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(which, now);
    if (code == 0 && which == CLOCK_REALTIME) now->tv_sec += shift();
    return code;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return code;
}
time_t time(time_t *at) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (at) *at = exact.tv_sec;
    return exact.tv_sec;
}
"""


class Clock:
    """The time of day of programs that are started with `env`, which may be set while they run."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "shift"
        self.set(0)
        (folder / "clock.c").write_text(CLOCK)
        library = folder / "clock.so"
        command = ["cc", "-shared", "-fPIC", "-o", str(library), str(folder / "clock.c"), "-ldl"]
        subprocess.run(command, check=True)
        self.env = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(self._file)}

    def set(self, shift_seconds: int) -> None:
        """Ahead of the real one, or behind it; by less than a day."""
        with self._file.open("ab") as file:
            file.truncate(86400 + shift_seconds)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


@pytest.mark.parametrize("jump_seconds", [3600, -3600])
def test_a_clock_that_is_set_while_it_watches(clock: Clock, jump_seconds: int) -> None:
    """Rates, ages and findings go by a clock that nobody can set; only what is shown as a time jumps."""
    with SimulatedNvml("h100x8") as node:
        env = {**node.env(), **clock.env}
        words = ["stream", "--what", "frames", "--interval", "0.5", "--count", "8"]
        with subprocess.Popen(
            [*GPUTOP, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watching:
            assert watching.stdout is not None
            lines = [watching.stdout.readline() for _ in range(3)]
            clock.set(jump_seconds)
            rest, said = watching.communicate(timeout=LONG_SECONDS)
    frames = [json.loads(line) for line in (*lines, *rest.splitlines())]
    assert (watching.returncode, said, len(frames)) == (0, "", 8)
    stamps = [frame["timestamp_seconds"] for frame in frames]
    assert abs(stamps[-1] - stamps[0] - jump_seconds) < LONG_SECONDS
    for frame in frames[2:]:
        assert frame["findings"] == []
        for gpu in frame["gpus"]:
            assert gpu["status"] == "ok"
            assert gpu["pcie_rx_bytes_per_second"] is None or gpu["pcie_rx_bytes_per_second"] >= 0
        for source in frame["sources"]:
            assert source.get("reading_age_seconds") is None or source["reading_age_seconds"] < 60


ZOMBIES = """
import os, sys, time
for _ in range(1500):
    if os.fork() == 0:
        os._exit(0)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def zombies() -> Iterator[int]:
    """The process, below that of the tests, that lets them lie."""
    command = [sys.executable, "-c", ZOMBIES]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        yield parent.pid
        parent.kill()


def test_a_storm_of_zombies_hides_nothing(zombies: int) -> None:
    with SimulatedNvml("h100x8") as node:
        node.process(3, 1, os.getpid(), memory="30GiB", sm=40)
        began = time.monotonic()
        done = subprocess.run(
            [*GPUTOP, "--once", "--format", "json"],
            env=node.env(),
            capture_output=True,
            text=True,
            timeout=LONG_SECONDS,
            check=False,
        )
        took = time.monotonic() - began
    frame = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(frame["gpus"]) == 8
    assert {os.getpid(), zombies} <= {each["pid"] for each in frame["processes"]}
    assert took < 30


@needs_root
@pytest.mark.parametrize("words", ["diagnose {} --for 1", "--once {}", "stacks {}", "doctor {}"])
def test_a_process_that_proc_hides_is_not_said_to_be_gone(words: str) -> None:
    command = " ".join((*AS_ANOTHER, *GPUTOP, words.format(os.getpid())))
    mount = "mount -t proc -o hidepid=invisible proc /proc"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"{mount} && exec {command}"],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    if "Permission denied" in done.stderr or "No module named" in done.stderr:
        pytest.skip("no other user can run gputop here")
    (sentence,) = done.stderr.strip().splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert "is hidden from you (/proc is mounted with hidepid)" in sentence


@needs_root
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("demo --once", 0),
        ("diagnose demo healthy", 0),
        ("record rec --demo healthy --for 1", 2),
        ("capture --demo healthy --for 1 -o hang.zip", 2),
        ("serve --textfile metrics.prom --demo healthy", 2),
    ],
)
def test_nowhere_to_write(words: str, code: int, tmp_path: Path) -> None:
    """Home, the folder of temporary files and the working directory are read-only."""
    program = f"cd {tmp_path} && exec {' '.join(GPUTOP)} {words}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs -o ro none {tmp_path} && {program}"],
        env={**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if code:
        (sentence,) = done.stderr.strip().splitlines()
        assert sentence.startswith("gputop: ") and "Read-only file system" in sentence
    else:
        assert done.stderr == ""
