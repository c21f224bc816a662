"""Real processes that stand still at a file: which, and on which mount."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gputop.probes.model.rank_readings import BlockedFile
from gputop.probes.sources.processes.blocked_file import blocked_file
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.watchlist import Watchlist

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="system calls have other numbers"
)
READS = "import os; os.write(1, b'ready\\n'); os.read(0, 1)"
OPENS = "import os, sys; os.write(1, b'ready\\n'); os.open(sys.argv[1], os.O_RDONLY)"
PREADS = (
    "import os, sys; f = os.open(sys.argv[1], os.O_RDWR); os.write(1, b'ready\\n'); os.read(f, 1)"
)


@contextmanager
def python(code: str, *words: object, before: tuple[str, ...] = ()) -> Iterator[int]:
    process = subprocess.Popen(
        [*before, sys.executable, "-c", code, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def eventually(read: Callable[[], BlockedFile | None]) -> BlockedFile:
    deadline = time.monotonic() + 10
    while (found := read()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def of(pid: int, *, interruptible: bool = True) -> BlockedFile | None:
    return blocked_file(f"/proc/{pid}", interruptible=interruptible)


def test_a_pipe_has_no_mount() -> None:
    with python(READS) as pid:
        found = eventually(lambda: of(pid))
    assert (found.call, found.path[:6], found.mount_point) == ("reads", "pipe:[", None)


def test_a_fifo_that_nobody_opens_for_writing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with python(OPENS, tmp_path / "fifo") as pid:
        found = eventually(lambda: of(pid))
        assert (found.call, found.path) == ("opens", str(tmp_path / "fifo"))
        assert found.mount_point is not None
        assert str(tmp_path).startswith(found.mount_point)
        # Its memory is left alone where reading that could hang.
        assert of(pid, interruptible=False) is None


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
def test_the_mount_is_the_one_that_the_process_sees(tmp_path: Path) -> None:
    mount = tmp_path / "a b"
    mount.mkdir()
    script = f"mount -t tmpfs fast '{mount}' && mkfifo '{mount}/fifo' && exec \"$@\""
    before = ("unshare", "--mount", "sh", "-c", script, "sh")
    with python(PREADS, mount / "fifo", before=before) as pid:
        found = eventually(lambda: of(pid))
    assert found == BlockedFile(
        call="reads",
        path=str(mount / "fifo"),
        mount_point=str(mount),
        file_system="tmpfs",
        device="fast",
    )


def test_one_that_sleeps_or_is_gone_has_none() -> None:
    with python("import os, time; os.write(1, b'ready\\n'); time.sleep(60)") as pid:
        time.sleep(0.2)
        assert of(pid) is None
    assert of(pid) is None


def test_processes_that_are_read_tell_it_once_they_stand_still(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    watchlist = Watchlist()
    with python(OPENS, tmp_path / "fifo") as pid:
        watchlist.attach(pid)
        source = ProcessSource(watchlist)

        def read() -> BlockedFile | None:
            return next(each.blocked_on for each in source.read() if each.pid == pid)

        assert read() is None  # one look cannot tell a wait from a moment's
        assert eventually(read).path == str(tmp_path / "fifo")
        source.close()
