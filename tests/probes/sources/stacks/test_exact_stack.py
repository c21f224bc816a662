"""Dumps that stop a real process: it goes on afterwards, or why none was taken is said."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gputop.probes.attach.stack_pause import expected_pause
from gputop.probes.sources.procfs.target import TargetError, start_time_of
from gputop.probes.sources.stacks.exact_stack import take_exact

from support.ready_process import SPINS, python


def began(pid: int) -> float:
    found = start_time_of(pid)
    assert found is not None
    return found


def state(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat[stat.rindex(")") + 2]


def cpu_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().split()[13])


@pytest.mark.parametrize("native", [False, True])
def test_the_process_goes_on(native: bool) -> None:
    with python(SPINS) as pid:
        reading = take_exact(pid, began(pid), native=native)
        (main,) = reading.main_stacks
        assert "spin" in {frame.name for frame in main}
        assert reading.state_after == state(pid) == "R"
        assert "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text()
        before = cpu_ticks(pid)
        time.sleep(0.3)
        assert cpu_ticks(pid) > before


def refused(pid: int, start: float) -> str:
    with pytest.raises(TargetError) as raised:
        take_exact(pid, start, native=False)
    return str(raised.value)


def test_one_that_is_stopped_is_left_alone() -> None:
    with python(SPINS) as pid:
        os.kill(pid, signal.SIGSTOP)
        while state(pid) != "T":
            time.sleep(0.01)
        assert "stopped already" in refused(pid, began(pid))
        assert state(pid) == "T"


def test_one_in_state_d_is_left_alone() -> None:
    """The parent of a vfork waits so, until its child runs another program or ends."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    code = "import ctypes; print('ready', flush=True); c = ctypes.CDLL(None); "
    code += "c.vfork() or c.sleep(60) or c._exit(0)"
    with python(code) as pid:
        deadline = time.monotonic() + 5
        while state(pid) != "D":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        began_at = time.monotonic()
        assert "state D" in refused(pid, began(pid))
        assert time.monotonic() - began_at < 1
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)


def test_another_process_of_that_pid_is_left_alone() -> None:
    with python(SPINS) as pid:
        assert "no process" in refused(pid, began(pid) - 5.0)


def test_one_without_python_is_reported_and_goes_on() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        time.sleep(0.2)
        said = refused(sleeper.pid, began(sleeper.pid))
        assert "does not run Python" in said
        assert state(sleeper.pid) == "S"
        sleeper.kill()


def test_one_that_has_ended() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert "has exited" in refused(ended.pid, 1.0)


def test_the_pause_grows_with_the_threads() -> None:
    """As measured: 1.8 ms with 2 threads, 22 ms with 128; native up to 0.3 s."""
    assert expected_pause(2, native=False) == pytest.approx(0.0018, rel=0.2)
    assert expected_pause(128, native=False) == pytest.approx(0.022, rel=0.2)
    assert expected_pause(2, native=True) == pytest.approx(0.3)
