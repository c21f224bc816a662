"""The ends of logs of real processes: files alone are read, and nothing is taken from anything else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gputop.probes.attach.rank_logs import LINES, Log, LogReader
from gputop.probes.sources.procfs.target import start_time_of

from support.another_user import AS_ANOTHER

LOOK = """
import os, subprocess
from gputop.probes.attach.rank_logs import LogReader
from gputop.probes.sources.procfs.target import start_time_of
path = "{folder}/log"
with open(path, "w") as file:
    file.write("secret")
    os.chmod(path, 0o200)
    process = subprocess.Popen(["sleep", "60"], stdout=file)
print(LogReader().logs(process.pid, start_time_of(process.pid)))
process.kill()
process.wait()
"""
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@contextmanager
def running(**streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def logs_of(process: subprocess.Popen[bytes]) -> dict[str, Log]:
    started = start_time_of(process.pid)
    assert started is not None
    return {log.stream: log for log in LogReader().logs(process.pid, started)}


def of_file(path: Path) -> tuple[str, ...]:
    """What is read of a process that writes there."""
    with path.open("ab") as file, running(stdout=file, stderr=file) as process:
        found = logs_of(process)
    assert list(found) == ["stdout"], "the same file is read once"
    return found["stdout"].lines


def test_the_last_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"step {number}\n" for number in range(1000)))
    lines = of_file(path)
    assert (len(lines), lines[0], lines[-1]) == (LINES, f"step {1000 - LINES}", "step 999")


def test_a_short_file_without_an_end_of_line(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("one\ntwo")
    assert of_file(path) == ("one", "two")


def test_a_progress_bar_is_shown_as_a_terminal_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"begin\n" + b"".join(b"\r%d%%" % number for number in range(100)) + b"\n")
    assert of_file(path) == ("begin", "99%")


def test_secrets_are_masked_also_over_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    key = "".join(f"MIIEsecret{number:04d}\n" for number in range(30))
    path.write_text(
        "loss 1.5\nWANDB_API_KEY=hunter2-s3cr3t\nnext line\n"
        f"-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----\nlast\n"
    )
    text = "\n".join(of_file(path))
    assert "hunter2" not in text and "MIIE" not in text
    assert [word in text for word in ("loss 1.5", "next line", "last")] == [True] * 3


def test_a_key_that_began_before_the_last_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    key = "".join(f"MIIEsecret{number:04d}\n" for number in range(LINES + 50))
    path.write_text(f"-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\nlast\n")
    assert "MIIE" not in "\n".join(of_file(path))


def test_a_huge_file_without_lines_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    with path.open("wb") as file:
        file.truncate(1 << 34)  # sparse
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")
    began = time.monotonic()
    assert of_file(path)[-1] == "last"
    assert time.monotonic() - began < 20.0


def test_a_file_that_was_deleted_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("one\n")
    with path.open("ab") as file, running(stdout=file) as process:
        path.unlink()
        assert logs_of(process)["stdout"].lines == ("one",)


def test_of_a_pipe_nothing_is_taken_and_its_reader_is_named(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    reader = [sys.executable, "-c", "import time; time.sleep(60)"]
    with running(stdout=theirs) as process:
        os.write(theirs, b"for the reader\n")
        os.close(theirs)
        with subprocess.Popen(reader, stdin=ours) as other:
            os.close(ours)
            log = logs_of(process)["stdout"]
            other.kill()
    assert log.lines == ()
    assert log.why_not.startswith(f"a pipe, read by process {other.pid} (")


def test_a_pipe_keeps_what_is_in_it() -> None:
    ours, theirs = os.pipe()
    with running(stdout=theirs) as process:
        os.write(theirs, b"for the reader\n")
        assert f"process {os.getpid()}" not in logs_of(process)["stdout"].why_not.split(" (")[0]
    os.close(theirs)
    with os.fdopen(ours, "rb") as left:
        assert left.read() == b"for the reader\n"


def test_of_a_named_pipe_that_nobody_reads_nothing_blocks(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    with running(stdout=descriptor) as process:
        os.close(descriptor)
        assert logs_of(process)["stdout"].why_not.startswith("a pipe")


def test_a_terminal_and_a_device(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with running(stdout=theirs, stderr=subprocess.DEVNULL) as process:
        found = logs_of(process)
    os.close(ours)
    os.close(theirs)
    assert found["stdout"].why_not.startswith("a terminal (/dev/pts/")
    assert found["stderr"].why_not == "a device (/dev/null)"


def test_a_closed_one_and_a_process_that_has_exited() -> None:
    command = ["sh", "-c", "exec sleep 60 >&-"]
    with subprocess.Popen(command) as process:
        time.sleep(0.3)
        assert logs_of(process)["stdout"].why_not == "it is closed"
        started = start_time_of(process.pid)
        process.kill()
    assert started is not None
    (log,) = LogReader().logs(process.pid, started)
    assert log.why_not == "the process has exited"


def test_another_process_of_the_same_number_is_not_meant() -> None:
    with running() as process:
        (log,) = LogReader().logs(process.pid, 1.0)
    assert (log.lines, log.why_not) == ((), "the process has exited")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_file_that_its_own_user_may_not_read(tmp_path: Path) -> None:
    """A process may write to a file that it could not open for reading, and neither may whoever looks."""
    script = tmp_path / "look.py"
    script.write_text(LOOK.format(folder=tmp_path))
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    words = [*AS_ANOTHER, sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "it may not be read: Permission denied" in done.stdout, done.stderr
    assert "secret" not in done.stdout
