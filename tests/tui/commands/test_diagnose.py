"""``gputop diagnose`` and ``stacks``: no all-clear without a look, on a simulated driver and real jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from nvml.simulated import SimulatedNvml

ALL_CLEAR = "Nothing is wrong"
SLEEPS = "print('ready', flush=True); import time; time.sleep({})"


def gputop(*words: str, node: SimulatedNvml | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gputop", *words],
        env=node.env() if node else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def text_and_json(
    *words: str, node: SimulatedNvml
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The same look in both forms, at one time: most of it is waiting."""
    with ThreadPoolExecutor() as pool:
        text = pool.submit(gputop, *words, node=node)
        encoded = pool.submit(gputop, *words, "--format", "json", node=node)
        return text.result(), json.loads(encoded.result().stdout)


@contextmanager
def python(seconds: float) -> Generator[int]:
    """A Python that sleeps so long, and is waited for when it ends."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPS.format(seconds)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        reaper = threading.Thread(target=process.wait)
        reaper.start()
        yield process.pid
        process.kill()
        reaper.join()


def test_without_a_driver_there_is_nothing_to_diagnose() -> None:
    with SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node:
        done = gputop("diagnose", "--for", "2", node=node)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gputop: the NVIDIA driver is not loaded: modprobe nvidia; ")


def test_a_driver_that_hangs_is_no_all_clear() -> None:
    with SimulatedNvml("h100x8", {"delay.nvmlInit_v2.system": 30.0}) as node:
        done = gputop("diagnose", "--for", "2", node=node)
    assert done.returncode == 2
    assert ALL_CLEAR not in done.stdout
    assert "the NVIDIA driver has not answered for " in done.stderr


def test_no_gpu_answers() -> None:
    with SimulatedNvml("h100x8", {"delay.*.*": 30.0}) as node:
        done = gputop("diagnose", "--for", "2", node=node)
    assert done.returncode == 2
    assert ALL_CLEAR not in done.stdout
    assert "does not answer about any of its GPUs (8)" in done.stderr


def test_one_gpu_that_does_not_answer_is_named() -> None:
    with SimulatedNvml("h100x8") as node:
        node.delay("*", 2, 30)
        done, report = text_and_json("diagnose", "--for", "2", node=node)
    (silent,) = report["silent_gpus"]
    assert silent["index"] == 2 and silent["reason"].startswith("no answer for ")
    assert ALL_CLEAR not in done.stdout
    assert "\nGPU 2 does not answer: no answer for " in f"\n{done.stdout}"


def test_rules_that_could_not_look_are_counted_with_their_reasons() -> None:
    with SimulatedNvml("h100x8", {"fault.*.*": "NO_PERMISSION"}) as node:
        done, report = text_and_json("diagnose", "--for", "2", node=node)
    text = done.stdout
    assert ALL_CLEAR not in text
    not_evaluated = {rule["id"] for rule in report["rules_not_evaluated"]}
    assert f"{len(not_evaluated)} of " in text and "rules were not evaluated:" in text
    assert "HW201" in not_evaluated and "    no permission: HW201, " in text


def test_a_process_without_a_driver_is_diagnosed_but_no_gpu() -> None:
    with (
        SimulatedNvml("h100x8", {"fault.nvmlInit_v2.system": "DRIVER_NOT_LOADED"}) as node,
        python(60) as pid,
    ):
        done, report = text_and_json("diagnose", str(pid), "--for", "2", node=node)
    assert (done.returncode, done.stderr) == (0, "")
    assert "python -c: 1 rank here" in done.stdout
    assert "No GPU was looked at: the NVIDIA driver is not loaded" in done.stdout
    assert ALL_CLEAR not in done.stdout
    assert report["why_no_gpus"].startswith("the NVIDIA driver is not loaded")
    assert report["silent_gpus"] == []


def test_a_job_that_ends_while_it_is_diagnosed() -> None:
    with python(3) as pid:
        done = gputop("diagnose", str(pid), "--for", "30")
    assert (done.returncode, done.stderr) == (2, f"gputop: process {pid} has exited\n")
    assert "python -c: 0 ranks here" in done.stdout
    assert f"rank 0  pid {pid}  exited " in done.stdout
    assert ALL_CLEAR not in done.stdout


def test_a_rank_that_was_killed_is_not_reported_as_if_it_lived() -> None:
    words = ("diagnose", "--for", "30")
    with python(60) as pid, ThreadPoolExecutor() as pool:
        as_json = pool.submit(gputop, *words, str(pid), "--format", "json")
        threading.Timer(5.0, os.kill, (pid, signal.SIGKILL)).start()
        done = gputop(*words, str(pid))
        report = json.loads(as_json.result().stdout)
    assert (done.returncode, done.stderr) == (1, f"gputop: process {pid} has exited\n")
    assert "python -c: 0 ranks here" in done.stdout
    assert f"rank 0  pid {pid}  exited " in done.stdout and "SIGKILL" in done.stdout
    assert f"pid {pid}  state" not in done.stdout
    assert report["job"]["ranks"] == [] and report["groups"] == []
    assert [(each["pid"], each["exit_signal"]) for each in report["exited_ranks"]] == [(pid, 9)]


def test_a_process_without_python_that_ends() -> None:
    with subprocess.Popen(["sleep", "2"]) as other:
        reaper = threading.Thread(target=other.wait)
        reaper.start()
        done = gputop("diagnose", str(other.pid))
        reaper.join()
    assert done.returncode == 2
    assert done.stderr == f"gputop: process {other.pid} has exited\n"


def test_a_job_that_ends_before_all_its_stacks_are_taken() -> None:
    with python(1.5) as pid:
        done = gputop("stacks", str(pid))
    assert (done.returncode, done.stderr) == (2, f"gputop: process {pid} has exited\n")


def test_a_suspicion_is_no_all_clear_and_is_worded_as_on_the_screen() -> None:
    hot: dict[str, str | int | float | bool] = {
        "gpu.3.temperature.gpu": 95,
        "gpu.3.clock.event_reasons": 0x40,
    }
    with SimulatedNvml("h100x8", hot) as node:
        done = gputop("diagnose", "--for", "2", node=node)
    assert done.returncode == 0
    assert "HW201" in done.stdout and ": GPU 3 (pending, seen " in done.stdout
    assert "    temperature 95 °C ≥ " in done.stdout
    assert "Nothing is certain, " in done.stdout and " pending" in done.stdout
    assert ALL_CLEAR not in done.stdout
