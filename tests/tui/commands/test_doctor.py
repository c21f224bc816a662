"""``gputop doctor`` on drivers that block, refuse and are not there: real processes throughout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gputop.probes.collector.registry import LINES

from nvml.simulated import SimulatedNvml


def doctor(
    *words: str, node: SimulatedNvml | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gputop", "doctor", *words],
        env=node.env() if node else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    return done


def states(text: str) -> dict[str, tuple[str, str]]:
    """Source → its state and the reason, from the lines below the headline."""
    lines = text.partition("\nsources\n")[2].splitlines()
    return {line[:22].strip(): (line[22:34].strip(), line[34:].strip()) for line in lines}


@pytest.mark.parametrize(
    ("function", "where", "blocked"),
    [("nvmlInit_v2", "system", "nvml"), ("*", 2, "nvml gpu 2")],
    ids=["init", "one GPU"],
)
def test_a_driver_that_blocks_is_reported_with_the_rest(
    function: str, where: int | str, blocked: str
) -> None:
    with SimulatedNvml("h100x8") as node:
        node.delay(function, where, 30)
        done = doctor(node=node, timeout=20)
    found = states(done.stdout)
    assert found[blocked][0] == "stale"
    assert found[blocked][1].startswith("no answer for ")
    assert found["host"][0] == "ok"
    assert done.returncode == (2 if function == "nvmlInit_v2" else 0)


def test_gpus_of_which_every_value_is_refused_are_not_ok() -> None:
    with SimulatedNvml("h100x8", {"fault.*.*": "NO_PERMISSION"}) as node:
        done = doctor(node=node)
    found = states(done.stdout)
    for index in range(8):
        state, reason = found[f"nvml gpu {index}"]
        assert state == "denied"
        assert "/dev/nvidia" in reason and "root" in reason
    assert done.returncode == 2
    assert done.stderr.startswith("gputop: no GPU can be looked at: nvml gpu 0 is denied, ")


def test_one_refused_value_does_not_close_a_gpu() -> None:
    with SimulatedNvml("h100x8") as node:
        node.fault("nvmlDeviceGetPowerUsage", "*", "NO_PERMISSION")
        node.lose(5)
        done = doctor(node=node)
    found = states(done.stdout)
    assert found["nvml gpu 0"] == ("ok", "")
    assert found["nvml gpu 5"] == ("failed", "GPU is lost")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_driver_a_process_can_still_be_examined() -> None:
    with SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node:
        here = doctor(node=node)
        own = doctor(str(os.getpid()), node=node)
    assert here.returncode == 2
    assert "NVML is absent, the NVIDIA driver is not loaded: modprobe nvidia" in here.stderr
    assert here.stdout.count("\nsources\n") == 1
    assert (own.returncode, own.stderr) == (0, "")


@pytest.mark.parametrize("pid", [(), (str(os.getpid()),)], ids=["the node", "a process"])
def test_every_source_is_there_with_its_state_and_why_it_gives_nothing(
    pid: tuple[str, ...],
) -> None:
    with SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node:
        found = states(doctor(*pid, node=node).stdout)
    assert found.keys() == {line.name for line in LINES}
    for state, reason in found.values():
        assert state in ("ok", "absent", "unsupported", "denied")
        assert bool(reason) is (state != "ok")
    assert found["host"] == ("ok", "")
    assert found["nvml"][0] == "absent"


def test_of_a_job_a_rank_is_examined_whatever_leads_to_it(tmp_path: Path) -> None:
    rank = tmp_path / "train.py"
    rank.write_text("print('ready', flush=True)\nimport time\ntime.sleep(60)\n")
    own = {**os.environ, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}
    with subprocess.Popen(
        ["sh", "-c", f"{sys.executable} {rank}; true"],
        env=own,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as shell:
        try:
            assert shell.stdout is not None
            assert shell.stdout.readline() == b"ready\n"
            children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text()
            (pid,) = map(int, children.split())
            assert f"its rank in process {pid} is examined" in doctor(str(shell.pid)).stdout
            assert doctor(str(pid)).stdout.startswith(f"process {pid}\n")
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
