"""One recording a node: the second one says who makes the first."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gputop.probes.recording.lock import NodeLock, running_recording
from gputop.probes.recording.segment import RecordingError

CODE = """
import time
from pathlib import Path
from gputop.probes.recording.lock import NodeLock
lock = NodeLock(Path("/one"))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the lock lies: another place than that of a real recording of this machine."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    shutil.rmtree(folder)


def test_the_second_is_refused_until_the_first_has_ended(memory: Path) -> None:
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"ready\n"
        with pytest.raises(RecordingError, match=rf"recorded already \(pid {first.pid}, to /one\)"):
            NodeLock(Path("/two"))
        assert running_recording() == Path("/one")
        first.kill()
    assert running_recording() is None
    with NodeLock(Path("/two")):
        pass
    NodeLock(Path("/three")).close()


def test_without_a_place_for_it_nothing_is_locked(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(*_: object) -> list[str]:
        return ["/nowhere/gputop"]

    monkeypatch.setattr("gputop.probes.recording.lock.candidates", nowhere)
    with NodeLock(Path("/one")), NodeLock(Path("/two")):
        pass
