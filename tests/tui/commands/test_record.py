"""``gputop record``, ``cut``, and looking at what was recorded: ``--from`` and ``replay``."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from gputop.probes.recording.recording import Recording
from gputop.probes.recording.segment import RecordingError

from support.own_signals import own_signals
from support.recordings import BEGAN, written

LONG_SECONDS = 60.0


def run(*words: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "gputop", *words],
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def until(name: Path, has: Callable[[Recording], object]) -> int:
    """Wait until what is on the disk has that; how many samples it has then."""
    deadline = time.monotonic() + LONG_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(RecordingError):
            recording = Recording(name)
            if has(recording):
                return recording.count
        time.sleep(0.1)
    raise AssertionError("it was never recorded")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_is_whole_however_it_is_ended(how: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gputop", "record", "run", "--demo", "gpu-lost", "-i", "0.2"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=own_signals,  # noqa: PLW1509
    ) as recorder:
        assert recorder.stdout is not None
        assert "records to run-*.gtop" in recorder.stdout.readline()
        seen = until(tmp_path / "run", lambda each: "HW206" in {m.rule for m in each.marks()})
        recorder.send_signal(how)
        assert recorder.wait(LONG_SECONDS) == 0
    recording = Recording(tmp_path / "run")
    assert recording.count > seen and recording.unreadable == []  # with the block that was open


def test_killed_it_loses_no_more_than_the_last_block(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gputop", "record", "run", "--demo", "healthy", "-i", "0.2"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=own_signals,  # noqa: PLW1509
    ) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.readline()
        seen = until(tmp_path / "run", lambda each: each.count >= 30)
        recorder.kill()
    recording = Recording(tmp_path / "run")
    assert recording.count >= seen and recording.unreadable == []


def test_a_real_node_and_no_secret_of_it(tmp_path: Path) -> None:
    secret = "hunter2-s3cr3t-key"
    job = [sys.executable, "-c", "import time; time.sleep(60)", "--api-key", secret]
    with subprocess.Popen(job, env={**os.environ, "WANDB_API_KEY": secret, "RANK": "0"}) as rank:
        memory = tempfile.mkdtemp(dir="/dev/shm")  # the lock is not that of another recording here
        words = ("record", "run", str(rank.pid), "--for", "4")
        code, out, err = run(*words, folder=tmp_path, XDG_RUNTIME_DIR=memory)
        shutil.rmtree(memory)
        rank.kill()
    assert code == 0, out + err
    recording = Recording(tmp_path / "run")
    entries = list(recording.samples(0, 1e12))
    assert any(each.pid == rank.pid for sample in entries for each in sample.processes)
    assert secret not in msgspec.json.encode(entries).decode()


def test_looking_at_a_moment_of_it(tmp_path: Path) -> None:
    written(tmp_path / "r.gtop", 60)
    at = time.strftime("%H:%M:%S", time.localtime(BEGAN + 30))
    for words in (["--at", at], ["--at", "-29"], ["--at=-29s"], ["--at", _iso(BEGAN + 30)]):
        code, out, err = run(
            "--once", "--from", "r.gtop", *words, "--format", "json", folder=tmp_path
        )
        assert code == 0, err
        assert json.loads(out)["timestamp_seconds"] == BEGAN + 30
    code, out, _ = run("--once", "--from", "r.gtop", folder=tmp_path)
    assert "replay of node17" in out.splitlines()[0]


@pytest.mark.parametrize("name", ["run", "1234", "attach"])
def test_a_recording_may_be_called_like_a_command_or_a_process(name: str, tmp_path: Path) -> None:
    written(tmp_path / name, 20)
    code, out, err = run(
        "--once", "--from", name, "--at", "-5", "--format", "json", folder=tmp_path
    )
    assert (code, json.loads(out or "{}").get("timestamp_seconds")) == (0, BEGAN + 14), err


def test_a_node_is_recorded_once_at_a_time(tmp_path: Path) -> None:
    memory = tempfile.mkdtemp(dir="/dev/shm")
    environment = {**os.environ, "XDG_RUNTIME_DIR": memory}
    command = [sys.executable, "-m", "gputop", "record", "first"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment
    ) as recorder:
        assert recorder.stdout is not None
        assert "records to first-*.gtop" in recorder.stdout.readline()
        code, out, err = run(
            "record", "second", "--for", "2", folder=tmp_path, XDG_RUNTIME_DIR=memory
        )
        recorder.terminate()
        assert recorder.wait(LONG_SECONDS) == 0
    shutil.rmtree(memory)
    assert (code, out) == (2, "")
    assert f"recorded already (pid {recorder.pid}, to {tmp_path / 'first'})" in err


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))


def test_diagnosing_the_minutes_before(tmp_path: Path) -> None:
    command = ["record", "run", "--demo", "gpu-lost", "--for", "3"]
    assert run(*command, folder=tmp_path)[0] == 0
    code, out, _ = run("diagnose", "--from", "run", folder=tmp_path)
    assert code == 1
    assert out.splitlines()[0].startswith("ERROR HW206")
    code, out, _ = run("diagnose", "--from", "run", "--at", "-110", "--for", "5", folder=tmp_path)
    assert (code, "Nothing is wrong" in out) == (0, True)


def test_a_part_of_it_to_hand_over(tmp_path: Path) -> None:
    written(tmp_path / "r.gtop", 60)
    code, out, _ = run(
        "cut", "r.gtop", "--from", "-20", "--to", "-10", "-o", "c.gtop", folder=tmp_path
    )
    assert (code, out.startswith("c.gtop: 11 samples and marks")) == (0, True)
    part = Recording(tmp_path / "c.gtop")
    assert (part.first_seconds, part.last_seconds) == (BEGAN + 39, BEGAN + 49)
    code, _, err = run("cut", "r.gtop", "-o", "c.gtop", folder=tmp_path)
    assert (code, "--force replaces it" in err) == (2, True)
    assert Recording(tmp_path / "c.gtop").count == 11
    assert run("cut", "r.gtop", "-o", "c.gtop", "--force", folder=tmp_path)[0] == 0
    assert Recording(tmp_path / "c.gtop").count == 60
    assert sorted(each.name for each in tmp_path.iterdir()) == ["c.gtop", "r.gtop"]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--once", "--from", "nothing"], 2, "there is no such recording"),
        (["--once", "--from", "/etc/hostname"], 2, "is not a gputop recording"),
        (["--once", "--from", "/"], 2, "/: Is a directory"),
        (["--once", "--from", "fifo"], 2, "not a regular file"),
        (["cut", "empty", "-o", "x"], 2, "it is empty"),
        (["replay", "folder"], 2, "folder: Is a directory"),
        (["cut", "r.gtop", "-o", "folder"], 2, "folder: File exists"),
        (["cut", "r.gtop", "-o", "folder", "--force"], 2, "folder: Is a directory"),
        (["cut", "r.gtop", "-o", "/"], 64, "'/' names no file"),
        (["cut", "r.gtop", "-o", ""], 64, "'' names no file"),
        (["record", "."], 64, "'.' names no file"),
        (["record", "folder/"], 64, "'folder/' names no file"),
        (["replay", "nothing"], 2, "there is no such recording"),
        (["diagnose", "--from", "nothing"], 2, "there is no such recording"),
        (["cut", "nothing", "-o", "x"], 2, "there is no such recording"),
        (["--once", "--from", "r.gtop", "--at", "noon"], 64, "is no time"),
        (["--once", "--from", "r.gtop", "--at", "25:00"], 64, "is no time"),
        (["--once", "--from", "r.gtop", "--at", "2001-01-01T00:00:00Z"], 2, "has nothing of 200"),
        (["--once", "--from", "r.gtop", "--at", "2001-01-01"], 64, "has no zone"),
        (["record", "run", "--keep", "soon"], 64, "is no time such as 90m, 24h or 7d"),
        (["--once", "--at", "12:00"], 64, "--at goes with --from"),
        (["record", "no/such/run", "--demo", "healthy"], 2, "No such file or directory"),
        (["record", "run", "--max-size", "3"], 64, "is no size"),
        (["replay", "r.gtop", "--speed", "0"], 64, "is no speed"),
        (["cut", "r.gtop", "-o", "no/such/x"], 2, "No such file or directory"),
    ],
)
def test_bad_input_gets_one_sentence(
    words: Sequence[str], code: int, sentence: str, tmp_path: Path
) -> None:
    written(tmp_path / "r.gtop", 12)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")
    found, out, err = run(*words, folder=tmp_path)
    assert (found, out) == (code, "")
    assert sentence in err and len(err.strip().splitlines()) == 1
    assert "internal error" not in err and "--force" not in err  # which would replace nothing here
    assert {each.name for each in tmp_path.iterdir()} == {"r.gtop", "folder", "empty", "fifo"}
