"""``gputop record``, ``cut``, and looking at recordings with ``--from``: real processes, files and signals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.recording.recording import Recording
from gputop.probes.recording.writer import Writer
from gputop.rules.catalogue import make_rules
from gputop.rules.engine import Engine
from gputop.tui.session.flight_recorder import FlightRecorder, finding_of

from nvml.simulated import SimulatedNvml
from support.recordings import START, samples
from support.terminal import Pty, wait_until

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
COUNT = 130


def gputop(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*GPUTOP, *words],
        cwd=cwd,
        env={**os.environ, "TZ": "UTC", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the recording ``sim``, judged live; in it GPU 6 is too hot."""
    folder = tmp_path_factory.mktemp("recorded")
    flight = FlightRecorder(writer=Writer(folder / "sim"))
    engine = Engine(make_rules())
    frame: Frame | None = None
    for sample in samples(COUNT, "thermal-throttle"):
        frame = derive(frame, sample)
        flight.take(sample, engine.judge(frame))
        wait_until(lambda: flight.recorder.idle, 20, "it is recorded")
    assert flight.close(20) == ""
    return folder


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def segments(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}-2*.gtop"))


def test_findings_are_kept_as_they_were_judged(recorded: Path) -> None:
    with Recording(recorded / "sim") as recording:
        *_, last = recording.kept()
        ids = {event.id for event in recording.activations}
    engine = Engine(make_rules())
    frame: Frame | None = None
    for sample in samples(COUNT, "thermal-throttle"):
        frame = derive(frame, sample)
        judged = engine.judge(frame)
    found = [finding_of(mark) for mark in last.marks]
    keys = [(each.id, each.subject, each.state, each.since_seconds) for each in found if each]
    assert keys == [
        (each.id, each.subject, each.state, each.since_seconds) for each in judged.findings
    ]
    assert {finding.id for finding in judged.active} <= ids
    assert ids


def test_one_frame_of_a_recording(recorded: Path) -> None:
    for words, seconds in ((), 129), (("--at", "-29"), 100), (("--at", "14:08:01"), 30):
        done = gputop("--once", "--from", "sim", "--format", "json", *words, cwd=recorded)
        assert done.returncode == 0
        frame: dict[str, Any] = json.loads(done.stdout)
        assert round(frame["timestamp_seconds"] - START) == seconds
        assert len(frame["gpus"]) == 8
        assert (
            frame["gpus"][0]["pcie_rx_bytes_per_second"] > 0
        )  # a rate: the sample before was read
    text = gputop("--once", "--from", str(segments(recorded, "sim")[0]), cwd=recorded)
    assert "recording sim-20261031T140731Z-000" in text.stdout
    assert text.stderr == (
        "gputop: recording sim-20261031T140731Z-000 of node17, 2026-10-31 14:09:40 +0000\n"
    )


def test_diagnosing_a_recording_finds_what_was_wrong_then(recorded: Path) -> None:
    done = gputop("diagnose", "--from", "sim", cwd=recorded)
    assert done.returncode == 1
    assert "GPU 6" in done.stdout
    assert "2026-10-31 14:09:40 +0000" in done.stderr
    early = gputop("diagnose", "--from", "sim", "--at", "14:07:33", cwd=recorded)
    assert early.returncode == 0
    encoded = gputop(
        "diagnose", "--from", "sim", "--at", "-40", "--for", "30", "--format", "json", cwd=recorded
    )
    assert round(json.loads(encoded.stdout)["timestamp_seconds"] - START) == 89


def test_diagnosing_one_job_of_a_recording(recorded: Path) -> None:
    pid = next(iter(samples(1, "thermal-throttle")[0].probes)).pid
    done = gputop("diagnose", str(pid), "--from", "sim", cwd=recorded)
    assert done.returncode == 1
    assert "r6" in done.stdout or "rank 6" in done.stdout
    nobody = gputop("diagnose", "1", "--from", "sim", cwd=recorded)
    assert (nobody.returncode, nobody.stdout) == (2, "")
    assert nobody.stderr.endswith("gputop: process 1 is not in this part of the recording\n")


def test_a_cut_is_a_recording_of_that_span(recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.gtop"
    words = (
        "cut",
        "sim",
        "--from",
        "14:08:00",
        "--to",
        "2026-10-31T15:08:20+01:00",
        "-o",
        str(out),
    )
    done = gputop(*words, cwd=recorded)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"21 samples are in {out} (")
    with Recording(out) as part, Recording(recorded / "sim") as whole:
        assert list(part.kept()) == list(whole.kept(START + 29, START + 49))
    again = gputop(*words, cwd=recorded)
    assert (again.returncode, again.stderr) == (
        2, f"gputop: {out} is there already: nothing is written over it\n",
    )  # fmt: skip
    assert gputop(*words, "--force", cwd=recorded).returncode == 0


BAD: list[tuple[tuple[str, ...], int, str]] = [
    (("--once", "--from", "nothing"), 2, "there is no recording nothing, nor a segment"),
    (("--once", "--from", "folder"), 2, "folder is a directory; name a recording in it"),
    (("--once", "--from", "pipe"), 2, "pipe is not a regular file"),
    (("--once", "--from", "empty"), 2, "empty is empty"),
    (("--once", "--from", "text"), 2, "text is not a gputop recording"),
    (("--once", "--from", "newer"), 2, "in schema 99, which is newer than this one's"),
    (("--once", "--from", ""), 2, "names no recording"),
    (("--once", "--from", "sim", "--at", "13:00:00"), 2, "13:00:00 is not in the recording, which is from 2026-10-31 14:07:31 +0000 to"),
    (("--once", "--from", "sim", "--at", "2020-01-01T00:00:00Z"), 2, "that time is not in the recording"),
    (("--once", "--from", "sim", "--at", "-3h"), 2, "that time is not in the recording"),
    (("--once", "--from", "sim", "--at", "2026-10-31T14:08:00"), 64, "says no zone"),
    (("--once", "--from", "sim", "--at", "yesterday"), 64, "'yesterday' is not a time such as"),
    (("--once", "--at", "-5m"), 64, "--at goes with --from"),
    (("stacks", "--from", "sim"), 64, "--from does not go with stacks"),
    (("diagnose", "--from", "empty"), 2, "empty is empty"),
    (("cut", "sim", "--from", "-5s", "--to", "-20s", "-o", "x"), 64, "--from is later than --to"),
    (("cut", "text", "-o", "x"), 2, "text is not a gputop recording"),
    (("cut", "sim", "-o", "no/x"), 2, "cannot be written: no such file or directory"),
    (("cut", "sim", "-o", "pipe", "--force"), 2, "pipe is not a regular file: it is left as it is"),
    (("cut", "sim"), 64, "-o"),
    (("record", "folder", "--for", "1"), 2, "folder is a folder: add a name, such as folder/NAME"),
    (("record", "no/run", "--for", "1"), 2, "no cannot hold a recording: no such file or directory"),
    (("record", "text/run", "--for", "1"), 2, "text cannot hold a recording: not a directory"),
    (("record", "run", "--for", "soon"), 64, "'soon' is not a time such as 90s, 10m, 2h or 7d"),
    (("record", "run", "--max-size", "1k"), 64, "'1k' is not a size such as 500M, 2G or 4GiB"),
    (("record",), 64, "NAME"),
    (("--once", "--record-on-finding", "folder"), 64, "goes with a screen, and with diagnose"),
    (("stacks", "--record-on-finding", "folder"), 64, "does not go with stacks"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "said"), BAD, ids=[" ".join(words) for words, *_ in BAD])
def test_bad_input_gets_one_sentence(
    recorded: Path, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    (path,) = segments(recorded, "sim")
    (tmp_path / path.name).symlink_to(path)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "newer").write_bytes(newer_schema())
    done = gputop(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def newer_schema() -> bytes:
    from gputop.probes.recording.format import Head, pack

    head = Head(schema_version=99, program_version="9.0", node="n")
    return pack(
        head, b"x", plain_bytes=1, samples=1, first_seconds=START, last_seconds=START, thinned=False
    )


def test_damage_is_told_beside_what_could_be_read(recorded: Path, tmp_path: Path) -> None:
    (path,) = segments(recorded, "sim")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    (tmp_path / "bad.gtop").write_bytes(data)
    done = gputop("diagnose", "--from", "bad", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("gputop: bad is damaged: 1 block left out\n")


@pytest.fixture
def memory() -> Iterator[Path]:
    """Where the lock lies: another one than that of tests beside this one."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def start(folder: Path, node: SimulatedNvml, memory: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GPUTOP, "record", "run", *words],
        cwd=folder,
        env={**node.env(), "XDG_RUNTIME_DIR": str(memory)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_it_with_its_last_block_whole(
    tmp_path: Path, memory: Path, node: SimulatedNvml, number: signal.Signals, code: int
) -> None:
    with start(tmp_path, node, memory, "--interval", "0.2") as recorder:
        time.sleep(6)
        recorder.send_signal(number)
        said, wrong = recorder.communicate(timeout=30)
    assert recorder.returncode == code
    assert wrong == ""
    with Recording(tmp_path / "run") as recording:
        kept = [each.sample for each in recording.kept()]
        assert recording.damage() == ""
    assert len(kept[-1].gpus) == 8
    assert len(kept) > 5
    assert f"{len(kept)} samples" in said


def test_it_ends_by_itself_and_goes_on_under_the_same_name(
    tmp_path: Path, memory: Path, node: SimulatedNvml
) -> None:
    for number in (1, 2):
        with start(tmp_path, node, memory, "--for", "3s") as recorder:
            said, wrong = recorder.communicate(timeout=60)
        assert (recorder.returncode, wrong) == (0, "")
        assert said.startswith("run: ")
        assert len(segments(tmp_path, "run")) == number


def test_a_second_recording_of_the_node_is_refused(
    tmp_path: Path, memory: Path, node: SimulatedNvml
) -> None:
    lock = memory / "gputop" / "recording.lock"
    with start(tmp_path, node, memory) as first:
        wait_until(lambda: lock.exists() and bool(lock.read_text()), 20, "it has begun")
        done = gputop("record", "other", "--for", "2", cwd=tmp_path, XDG_RUNTIME_DIR=str(memory))
        first.kill()
    assert done.returncode == 2
    assert (
        f"this node is recorded already (pid {first.pid}, into {tmp_path / 'run'})" in done.stderr
    )
    assert not segments(tmp_path, "other")
    wait_until(lambda: recorded_for_a_second(tmp_path, memory), 20, "it can be recorded again")


def recorded_for_a_second(folder: Path, memory: Path) -> bool:
    words = ("record", "other", "--for", "1", "--interval", "0.2")
    done = gputop(*words, cwd=folder, XDG_RUNTIME_DIR=str(memory))
    return done.returncode == 0


def test_an_error_writes_the_last_minutes_while_diagnosing(tmp_path: Path) -> None:
    with SimulatedNvml("h100x8") as node:
        node.lose(3)
        done = subprocess.run(
            [*GPUTOP, "diagnose", "--for", "12", "--record-on-finding", str(tmp_path)],
            env=node.env(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    (path,) = tmp_path.iterdir()
    assert f"the last minutes are saved in {path}" in done.stderr
    with Recording(path) as recording:
        *_, last = recording.kept()
    assert any(mark.severity == "error" and mark.state == "active" for mark in last.marks)


def test_a_key_saves_what_the_screen_has_seen(tmp_path: Path) -> None:
    command = ["env", "-C", str(tmp_path), *GPUTOP, "demo", "thermal-throttle"]
    with closing(Pty(command, columns=120, lines=40, env=os.environ)) as screen:
        screen.wait_for("quit", 60)
        screen.type("R")
        wait_until(lambda: bool(list(tmp_path.glob("*.gtop"))), 30, "a file is there")
        screen.wait_for("the last minutes are saved", 30)
        screen.type("q")
    (path,) = tmp_path.glob("gputop-node17-*.gtop")
    with Recording(path) as recording:
        assert recording.samples_count >= 60
        assert recording.blocks[0].head.simulated
        assert recording.activations
    assert gputop("--once", "--from", path.name, cwd=tmp_path).returncode == 0
