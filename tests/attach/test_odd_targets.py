"""Targets that are no training job, or hardly one: a sentence, which access methods are left, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.another_user import AS_ANOTHER
from support.terminal import wait_until

GPUTOP = (sys.executable, "-P", "-m", "gputop")
SLEEPS = "import os, time; os.write(1, b'ready\\n'); time.sleep(600)"
STATIC = '#include <unistd.h>\nint main(void) { write(1, "ready\\n", 6); for (;;) pause(); }\n'
THIRTY_TWO = """
static const char text[] = "ready\\n";
void _start(void) {
  __asm__ volatile("int $0x80" ::"a"(4), "b"(1), "c"(text), "d"(6));
  for (;;) __asm__ volatile("int $0x80" ::"a"(29));
}
"""
MANY = """
#include <sys/prctl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  for (int left = atoi(argv[1]); left > 0; left--)
    if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); for (;;) pause(); }
  write(1, "ready\\n", 6);
  for (;;) pause();
}
"""
ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root can do this")
needs_unshare = pytest.mark.skipif(
    not ROOT or shutil.which("unshare") is None, reason="needs root and unshare"
)


def name_of(pid: int) -> str:
    """As the kernel calls it; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def built(folder: Path, code: str, *options: str) -> str:
    """A C program; the test is skipped where this compiler cannot build it."""
    (folder / "program.c").write_text(code)
    command = ["cc", *options, "-o", f"{folder}/program", f"{folder}/program.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cc {' '.join(options)} does not work here: {done.stderr[:100]}")
    return str(folder / "program")


@contextmanager
def running(*command: str) -> Iterator[int]:
    """A process that says when it is ready; checked to be as it was, and ended."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        if process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert "TracerPid:\t0\n" in status
            assert "State:\tT" not in status
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run(*words: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """gputop, which must end by itself, without a traceback and without children left."""
    done = subprocess.run(
        [*before, *GPUTOP, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert "internal error" not in done.stderr
    return done


def no_stack(pid: int, *why: str, before: Sequence[str] = ()) -> str:
    """What `gputop stacks` says of a process without one, as text; as JSON it says the same sentence."""
    done = run("stacks", str(pid), before=before)
    as_json = run("stacks", str(pid), "--format", "json", before=before)
    for each in (done, as_json):
        assert each.returncode == 2, each.stdout
        assert re.fullmatch(r"gputop: .+\n", each.stderr), "one sentence says why"
    assert not as_json.stdout or json.loads(as_json.stdout)["job"]["pids"] == [pid]
    for words in why:
        assert words in done.stdout + done.stderr
        if words not in done.stdout:
            assert words in as_json.stderr
    return done.stdout


def test_a_static_binary(tmp_path: Path) -> None:
    with running(built(tmp_path, STATIC, "-static")) as pid:
        said = no_stack(pid, f"process {pid} (program) does not run Python")
        assert "seen through: threads" in said
        assert run(str(pid), "--once").returncode == 0
        doctor = run("doctor", str(pid)).stdout
    assert "does not run Python" in doctor
    assert "threads and counters  open" in doctor


def test_a_program_that_is_no_python() -> None:
    with running("/bin/sh", "-c", "echo ready; exec sleep 600") as pid:
        wait_until(lambda: name_of(pid) == "sleep", 5, "it is sleep now")
        no_stack(pid, f"no stack: process {pid} (sleep) does not run Python")


def test_a_shell_that_waits_for_a_program() -> None:
    with running("/bin/sh", "-c", "echo ready; sleep 600; true") as pid:
        assert no_stack(pid, "leads to no training job") == ""


def test_a_python_that_has_become_another_program() -> None:
    code = "import os; os.write(1, b'ready\\n'); os.execvp('sleep', ['sleep', '600'])"
    with running(sys.executable, "-c", code) as pid:
        wait_until(lambda: name_of(pid) == "sleep", 5, "it is sleep now")
        no_stack(pid, f"no stack: process {pid} (sleep) does not run Python")


def test_a_process_that_has_ended_and_was_not_waited_for() -> None:
    process = subprocess.Popen(["true"])
    try:
        wait_until(lambda: " Z " in Path(f"/proc/{process.pid}/stat").read_text(), 5, "a zombie")
        assert no_stack(process.pid, "has exited, and its parent has not taken notice yet") == ""
    finally:
        process.wait()


@pytest.mark.skipif(name_of(2) != "kthreadd", reason="threads of the kernel are not seen here")
def test_a_thread_of_the_kernel() -> None:
    assert no_stack(2, "is a thread of the kernel: there is no job in it") == ""


def test_a_stopped_python_is_said_to_be_stopped() -> None:
    with running(sys.executable, "-c", SLEEPS) as pid:
        os.kill(pid, signal.SIGSTOP)
        try:
            done = run("stacks", str(pid))
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: "T (" not in Path(f"/proc/{pid}/status").read_text(), 5, "it goes on")
    assert done.returncode == 0 and not done.stderr
    assert "<module>" in done.stdout and "other, is stopped [stacks]" in done.stdout


def test_a_stopped_program_that_is_no_python() -> None:
    with running("/bin/sh", "-c", "echo ready; exec sleep 600") as pid:
        wait_until(lambda: name_of(pid) == "sleep", 5, "it is sleep now")
        os.kill(pid, signal.SIGSTOP)
        try:
            assert "is stopped" in no_stack(pid, "(sleep) does not run Python")
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: "T (" not in Path(f"/proc/{pid}/status").read_text(), 5, "it goes on")


def test_a_32_bit_process(tmp_path: Path) -> None:
    options = ("-m32", "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie")
    program = built(tmp_path, THIRTY_TWO, *options)
    try:
        with running(program) as pid:
            no_stack(pid, "32-bit program", "seen through: threads")
    except OSError as error:
        pytest.skip(f"this kernel runs no 32-bit programs: {error}")


def found(*names: str) -> str:
    """An interpreter that runs, by name, wherever it is usual; the test is skipped without one."""
    for name in names:
        own = [str(path) for path in Path.home().glob(f".pyenv/versions/*/bin/{name}")]
        for path in [*filter(None, [shutil.which(name)]), *own]:
            done = subprocess.run([path, "-c", "print(1)"], capture_output=True, check=False)
            if done.stdout == b"1\n":
                return path
    pytest.skip(f"there is no {names[0]} on this machine")


def test_python_2() -> None:
    with running(found("python2.7", "python2"), "-c", SLEEPS) as pid:
        done = run("stacks", str(pid))
    assert done.returncode == 0
    assert "<module>" in done.stdout


def test_pypy() -> None:
    with running(found("pypy3", "pypy"), "-c", SLEEPS) as pid:
        no_stack(pid, "runs PyPy, whose stacks py-spy cannot read", "seen through: threads")


@needs_root
def test_another_users_process() -> None:
    with running(sys.executable, "-c", SLEEPS) as pid:
        no_stack(pid, "it belongs to user root: sudo -u root gputop", before=AS_ANOTHER)
        once = run(str(pid), "--once", before=AS_ANOTHER)
    assert once.returncode == 0
    assert "its environment, and with it its rank, is hidden from you" in once.stderr


def test_one_that_exits_while_its_stacks_are_taken() -> None:
    with running(sys.executable, "-c", SLEEPS.replace("600", "3")) as pid:
        done = run("stacks", str(pid))
    assert done.returncode in (0, 2)
    sentences = ("leads to no training job", "has exited")
    assert "rank 0" in done.stdout or any(words in done.stderr for words in sentences)


@needs_root
def test_a_pid_that_came_back_is_not_taken_for_the_one_that_was_asked_for() -> None:
    """In a namespace of its own, where the next pid can be chosen."""
    script = f"""
import os, subprocess, sys, time
first = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
look = subprocess.Popen([*{GPUTOP!r}, "diagnose", str(first.pid), "--for", "8"],
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
time.sleep(4)
first.kill()
first.wait()
open("/proc/sys/kernel/ns_last_pid", "w").write(str(first.pid - 1))
second = subprocess.Popen(["sleep", "60"])
assert second.pid == first.pid, (first.pid, second.pid)
print(look.communicate()[0])
second.kill()
"""
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "python -c" in done.stdout
    assert "(sleep)" not in done.stdout and "sleep: " not in done.stdout
    assert "Traceback" not in done.stdout


def test_four_thousand_processes_on_the_node(tmp_path: Path) -> None:
    program = built(tmp_path, MANY)
    with running(program, "4000"), running(sys.executable, "-c", SLEEPS) as pid:
        began = time.monotonic()
        once = run(str(pid), "--once", "--format", "json")
        took = time.monotonic() - began
        jobs = run("attach", "--format", "json")
    print(f"\none look beside 4000 processes: {took:.1f} s")
    assert once.returncode == 0
    assert took < 10
    assert len(once.stdout) < 200_000  # they are not that are watched, and so not in it
    assert jobs.returncode in (0, 2)


@needs_unshare
def test_processes_that_proc_hides() -> None:
    user = " ".join(AS_ANOTHER)
    with running(sys.executable, "-c", SLEEPS) as pid:
        script = f"mount -o remount,hidepid=2 /proc && exec {user} {' '.join(GPUTOP)} stacks {pid}"
        hidden = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        attached = subprocess.run(
            [
                "unshare",
                "--mount",
                "sh",
                "-c",
                f"mount -t proc -o hidepid=2 proc /proc && exec {user} {' '.join(GPUTOP)} stacks {pid}",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert hidden.returncode == 2
    for done in (hidden, attached):
        assert "Traceback" not in done.stderr
    assert attached.returncode == 2
    assert "hidepid" in attached.stderr


@needs_unshare
def test_a_job_in_other_namespaces(tmp_path: Path) -> None:
    """Of pids, mounts and users, as in a container; from outside it has another pid."""
    (tmp_path / "train.py").write_text(SLEEPS)
    command = ("unshare", "--pid", "--fork", "--mount-proc", "--mount", "--user", "--map-root-user")
    names = ("env", "RANK=1", "LOCAL_RANK=1", "WORLD_SIZE=2")
    with running(*command, *names, sys.executable, str(tmp_path / "train.py")) as outer:
        inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]
        done = run("stacks", inner)
        below = run("stacks", str(outer))
    assert done.returncode == below.returncode == 0, done.stdout + done.stderr
    assert f"rank 1  pid {inner}" in done.stdout
    assert f"rank 1  pid {inner}" in below.stdout
    assert "<module> (" in done.stdout


def test_nothing_is_left_behind() -> None:
    with running(sys.executable, "-c", SLEEPS) as pid:
        run("stacks", str(pid))

        def left() -> list[str]:
            found: list[str] = []
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    words = path.read_bytes().split(b"\0")
                except OSError:
                    continue
                if str(pid).encode() in words and b"py-spy" in words[0]:
                    found.append(path.parent.name)
            return found

        wait_until(lambda: not left(), 5, "py-spy has ended")
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    assert len(threads) == 1
