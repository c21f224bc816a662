"""``gputop capture``: what a capsule holds of real processes, what it never does, and how it fails."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from gputop.probes.recording.recording import Recording

from support.own_signals import own_signals
from support.terminal import wait_until

SECRET = "hunter2-s3cr3t-key"
TRAIN = """
import sys, time, gputop
gputop.attach()
print("started with WANDB_API_KEY=hunter2-s3cr3t-key", flush=True)
number = 0
while True:
    with gputop.phase("forward"):
        time.sleep(0.05)
    gputop.step(samples=4)
    number += 1
    print("step", number, "loss 2.5", flush=True)
"""
LONG_SECONDS = 90.0


LAUNCH = """
for rank in $(seq 0 $((WORLD_SIZE - 1))); do
    RANK=$rank LOCAL_RANK=$rank $PYTHON annstrain.py --api-key $WANDB_API_KEY > log$rank &
    echo $! >> pids
done
wait
"""


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where pages and the lock of a recording lie: no recording of another test is found."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@contextmanager
def job(folder: Path, ranks: int = 2) -> Iterator[list[int]]:
    """A job whose ranks have probes. Its script, folder and host have names that are looked for again."""
    home = folder / "annshome"
    home.mkdir()
    (home / "annstrain.py").write_text(TRAIN)
    variables = {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "annshost.example",
        "PYTHON": sys.executable,
    }
    variables |= {"MASTER_PORT": "29500", "WANDB_API_KEY": SECRET}
    with subprocess.Popen(
        ["bash", "-c", LAUNCH],
        cwd=home,
        env={**os.environ, **variables},
        stderr=subprocess.DEVNULL,
    ) as launcher:
        pids: list[int] = []
        try:
            time.sleep(1.5)
            pids = [int(line) for line in (home / "pids").read_text().split()]
            yield pids
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            launcher.kill()


def capture(*words: str, folder: Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "gputop", "capture", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
        **more,
    )


def content(path: Path) -> dict[str, str]:
    """Each file of a capsule as text; the recording as JSON of its entries."""
    with zipfile.ZipFile(path) as capsule:
        names = [each.partition("/")[2] for each in capsule.namelist()]
        found = {
            name: capsule.read(each).decode("utf-8", "replace")
            for name, each in zip(names, capsule.namelist(), strict=True)
        }
        assert {each.partition("/")[0] for each in capsule.namelist()} == {path.stem}
        capsule.extract(f"{path.stem}/recording.gtop", path.parent / "unpacked")
    recording = Recording(path.parent / "unpacked" / path.stem / "recording.gtop")
    assert recording.unreadable == []
    found["recording.gtop"] = msgspec.json.encode(list(recording.entries(0, 1e12))).decode()
    return found


def test_of_a_running_job_all_that_a_colleague_needs(tmp_path: Path) -> None:
    with job(tmp_path) as pids:
        command = [sys.executable, "-m", "gputop", "record", "rec", str(pids[0]), "-i", "0.5"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as recorder:
            wait_until(
                lambda: any(each.stat().st_size for each in tmp_path.glob("rec*.gtop")),
                LONG_SECONDS,
                "a block is on the disk, which it is after ten seconds",
            )
            words = (str(pids[1]), "--for", "5", "-o", "hang.zip")  # it finds the recording
            done = capture(*words, folder=tmp_path)
            recorder.terminate()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hang.zip: ")
    assert (tmp_path / "hang.zip").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.glob(".hang*")] == []
    found = content(tmp_path / "hang.zip")
    assert SECRET not in "".join(found.values())
    for number, pid in enumerate(pids):
        log = found[f"logs/rank-{number}-pid-{pid}.stdout.txt"].splitlines()
        assert len(log) == 200 and log[-1].startswith("step "), "of its last lines the last"
        assert f"rank {number}, thread MainThread" in found["stacks.txt"]
    assert "annstrain.py:8" in found["stacks.txt"] or "annstrain.py:9" in found["stacks.txt"]
    assert "annstrain.py: 2 ranks here of 2" in found["diagnosis.txt"]
    assert json.loads(found["diagnosis.json"])["job"]["name"] == "annstrain.py"
    assert "stacks                open" in found["doctor.txt"]
    readme = found["README.txt"]
    assert "before from a recording, then a look of" in readme
    assert "torch.distributed is not in this process" in readme, "why there is no flight recorder"
    assert "a device (/dev/null)" in readme, "why there is no log of stderr"
    manifest = json.loads(found["manifest.json"])
    assert {each["name"] for each in manifest["files"]} == found.keys() - {
        "README.txt",
        "manifest.json",
    }
    samples = [each for each in json.loads(found["recording.gtop"]) if each["type"] == "sample"]
    moments = [each["time_seconds"] for each in samples]
    assert moments == sorted(set(moments)) and moments[-1] - moments[0] > 10.0
    read = subprocess.run(
        [sys.executable, "-m", "gputop", "diagnose", str(pids[0]), "--from", "hang.zip"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )
    assert "annstrain.py: 2 ranks here of 2" in read.stdout


def test_redacted_it_names_nobody(tmp_path: Path) -> None:
    with job(tmp_path) as pids:
        words = (str(pids[0]), "--redact", "--exact-stacks", "--for", "4", "-o", "hang.zip")
        done = capture(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = content(tmp_path / "hang.zip")
    text = "".join(found.values())
    for name in (SECRET, "anns", os.uname().nodename + '"', str(tmp_path), "loss 2.5", "wandb"):
        assert name.lower() not in text.lower(), name
    assert not any(each.startswith(("logs/", "kernel-log")) for each in found)
    assert "2 ranks here of 2" in found["diagnosis.txt"], "it is still a job"
    assert f"exact-stacks/rank-1-pid-{pids[1]}.txt" in found
    assert "free text cannot be redacted" in found["README.txt"]


def test_without_a_recording_it_says_so_and_of_pipes_who_reads_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "train.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "RANK": "0"}, stdout=subprocess.PIPE
    ) as rank:
        done = capture(str(rank.pid), "--for", "3", "-o", "hang.zip", folder=tmp_path)
        rank.kill()
        assert rank.stdout is not None and rank.stdout.readline().startswith(b"started"), (
            "all is there"
        )
    assert done.returncode == 0, done.stderr
    readme = content(tmp_path / "hang.zip")["README.txt"]
    assert "the ten minutes before: no recording goes on" in readme
    assert f"stdout is not taken: a pipe, read by process {os.getpid()} (" in readme


def test_a_job_that_ends_meanwhile(tmp_path: Path) -> None:
    with job(tmp_path, ranks=1) as pids:
        words = [
            sys.executable,
            "-m",
            "gputop",
            "capture",
            str(pids[0]),
            "--for",
            "30",
            "-o",
            "h.zip",
        ]
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
            time.sleep(6.0)
            os.kill(pids[0], signal.SIGKILL)
            _, said = running.communicate(timeout=LONG_SECONDS)
    assert running.returncode == 0
    assert f"process {pids[0]} has exited: what was seen until then is in the capsule" in said
    found = content(tmp_path / "h.zip")
    assert "rank 0, thread MainThread" in found["stacks.txt"], "of when it lived"


def test_a_simulated_node_with_an_error(tmp_path: Path) -> None:
    done = capture("--demo", "gpu-lost", "--for", "3", "-o", "hang.zip", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = content(tmp_path / "hang.zip")
    assert found["diagnosis.txt"].startswith("ERROR HW206")
    assert '"rule":"HW206"' in found["recording.gtop"]
    assert "Nothing in it is real" in found["README.txt"]
    (tmp_path / "cut.zip").write_bytes((tmp_path / "hang.zip").read_bytes()[:-600])
    for name in ("hang.zip", "cut.zip"):
        read = subprocess.run(
            [sys.executable, "-m", "gputop", "diagnose", "--from", name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LONG_SECONDS,
            check=False,
        )
        assert (read.returncode, read.stdout.partition(" ")[0]) == (1, "ERROR"), name + read.stderr


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "hang.zip").write_text("mine")
    words = ("--demo", "healthy", "--for", "1", "-o", "hang.zip")
    done = capture(*words, folder=tmp_path)
    assert (done.returncode, "--force replaces it" in done.stderr) == (2, True)
    assert (tmp_path / "hang.zip").read_text() == "mine"
    assert capture(*words, "--force", folder=tmp_path).returncode == 0
    assert zipfile.is_zipfile(tmp_path / "hang.zip")
    assert [each.name for each in tmp_path.iterdir()] == ["hang.zip"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_nothing_is_left(how: signal.Signals, tmp_path: Path) -> None:
    words = ["capture", "--demo", "healthy", "--for", "60", "-o", "hang.zip"]
    with subprocess.Popen(
        [sys.executable, "-m", "gputop", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=own_signals,  # noqa: PLW1509
    ) as running:
        deadline = time.monotonic() + LONG_SECONDS
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(how)
        _, said = running.communicate(timeout=LONG_SECONDS)
    assert (running.returncode, said) == (130, "gputop: interrupted: nothing is written\n")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room(tmp_path: Path) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    words = ("--demo", "healthy", "--for", "1", "-o", "hang.zip")
    # Else Python leaves what it compiles meanwhile cut off as well, and all that start after it stumble.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = capture(*words, folder=tmp_path, preexec_fn=small, env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gputop: hang.zip: File too large\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["-o", "no/such/x.zip"], 2, "No such file or directory"),
        (["-o", "fifo"], 2, "no regular file"),
        (["-o", "fifo", "--force"], 2, "no regular file"),
        (["-o", "folder", "--force"], 2, "no regular file"),
        (["-o", "link", "--force"], 2, "no regular file"),
        (["999999999", "-o", "x.zip"], 2, "there is no process 999999999"),
        (["-o", "x.zip", "--from", "nothing"], 2, "there is no such recording"),
        (["-o", "x.zip", "--from", "fifo"], 2, "not a regular file"),
        (["-o", "x.zip", "--redact", "--memory-snapshot"], 64, "a pickle cannot be redacted"),
        (["-o", "x.zip", "--demo", "nothing"], 64, "there is no scenario"),
        ([], 64, "required: -o/--output"),
    ],
)
def test_bad_input_gets_one_sentence(
    words: Sequence[str], code: int, sentence: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    done = capture(*words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["fifo", "folder", "link"]
