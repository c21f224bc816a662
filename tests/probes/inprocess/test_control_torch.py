"""What is asked of a probe in a process that trains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gputop.probes.attach.control_client import ProbeError, ask, ask_worker_server

from support.probe_job import Job, job
from support.terminal import wait_until
from support.torch_python import TORCH_PYTHON, needs_torch

pytestmark = [needs_torch, pytest.mark.slow]

_BEGIN = """
sys.path.pop(0)  # else torch would find what lies beside the probe
import torch
import torch.distributed as dist
from inprocess.worker_server import WorkerServer
torch.set_num_threads(1)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(3))
gputop.active().use(WorkerServer(gputop.active()))
say("up")
"""
_STEPPING = """
while not os.path.exists(os.environ["XDG_RUNTIME_DIR"] + "/stop"):
    torch.ones(8, 8) @ torch.ones(8, 8)
    gputop.step()
    time.sleep(0.02)
say("ended", gputop.active().at_step_end)
"""
_HOLDING = """
import ctypes
ctypes.PyDLL(None).sleep(60)
"""


@pytest.fixture(scope="module")
def training() -> Iterator[Job]:
    with job(_BEGIN + _STEPPING, python=TORCH_PYTHON, OMP_NUM_THREADS="1") as started:
        assert started.line() == "up"
        yield started
        (started.runtime / "stop").touch()
        assert started.line() == "ended []", "nothing of a recording stays behind"


def state(pid: int) -> str:
    return str(ask(pid, {"command": "profile-status"}, seconds=60)["state"])


def record(pid: int, path: Path, steps: int = 2) -> dict[str, object]:
    return ask(pid, {"command": "profile", "steps": steps, "path": str(path)})


def test_steps_are_recorded_into_a_chrome_trace(training: Job, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    record(training.pid, path)
    wait_until(lambda: state(training.pid) in ("done", "failed"), 60, "recorded")
    assert state(training.pid) == "done"
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event.get("name") == "aten::matmul" for event in events) == 2


def test_one_recording_at_a_time_and_it_can_be_cancelled(training: Job, tmp_path: Path) -> None:
    record(training.pid, tmp_path / "one.json", steps=100)
    with pytest.raises(ProbeError, match="not done yet"):
        record(training.pid, tmp_path / "two.json")
    ask(training.pid, {"command": "profile-cancel"})
    wait_until(lambda: state(training.pid) == "failed", 60, "cancelled")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("steps", [0, -1, 101, "3", None, 1.5])
def test_a_wrong_number_of_steps_is_refused(training: Job, tmp_path: Path, steps: object) -> None:
    request = {"command": "profile", "steps": steps, "path": str(tmp_path / "trace.json")}
    with pytest.raises(ProbeError, match="from 1 to 100"):
        ask(training.pid, request)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(training: Job, tmp_path: Path) -> None:
    there = tmp_path / "trace.json"
    there.write_text("precious")
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere")
    for path in (there, link):
        with pytest.raises(ProbeError, match="exists already"):
            record(training.pid, path)
    with pytest.raises(ProbeError, match="cannot write"):
        record(training.pid, tmp_path / "no such folder" / "trace.json")
    with pytest.raises(ProbeError, match="absolute path"):
        record(training.pid, Path("trace.json"))
    assert there.read_text() == "precious"
    assert not (tmp_path / "elsewhere").exists()


def test_without_a_gpu_there_is_no_snapshot(training: Job, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="does not use a GPU"):
        ask(training.pid, {"command": "memory-snapshot", "path": str(tmp_path / "snapshot")})
    assert list(tmp_path.iterdir()) == []


def test_the_flight_recorder_holds_the_collective(training: Job) -> None:
    dump = json.loads(str(ask(training.pid, {"command": "flight-recorder"})["text"]))
    assert [entry["profiling_name"] for entry in dump["entries"]] == ["gloo:all_reduce"]


def test_torch_s_own_server_answers_while_the_interpreter_is_held() -> None:
    with job(_BEGIN + _HOLDING, python=TORCH_PYTHON) as holding:
        assert holding.line() == "up"
        with pytest.raises(ProbeError, match="did not answer"):
            for _ in range(50):  # until it is held
                ask(holding.pid, {"command": "status"}, seconds=2)
        dump = json.loads(ask_worker_server(holding.pid, "fr_trace_json"))
        assert len(dump["entries"]) == 1
        with pytest.raises(ProbeError, match="no handler"):
            ask_worker_server(holding.pid, "explode")
        assert (holding.runtime / "gputop" / f"{holding.pages()[0].stem}.torch.sock").exists()
