"""The driver as a whole goes, comes back, refuses, hangs or is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.nvml_watch import Watch


@pytest.fixture
def node(tmp_path: Path) -> SimulatedNvml:
    return SimulatedNvml("h100x8", directory=tmp_path)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("DRIVER_NOT_LOADED", "the NVIDIA driver is not loaded"),
        ("UNINITIALIZED", "shut down under us"),
        ("LIB_RM_VERSION_MISMATCH", "NVIDIA driver and library versions differ (library"),
    ],
)
def test_driver_that_goes_comes_back_with_fresh_handles(
    node: SimulatedNvml, error: str, reason: str
) -> None:
    with Watch(node.env()) as watch:
        watch.ticks(2)
        node.fault("*", "*", error)
        node.fault("nvmlInit_v2", "system", "DRIVER_NOT_LOADED")
        assert watch.tick().outcomes["nvml gpu 3"].status == "failed"
        tick = watch.tick()
        assert tick.outcomes["nvml"].status == "failed"
        assert reason in tick.outcomes["nvml"].reason
        assert reason in tick.outcomes["nvml gpu 3"].reason
        assert tick.outcomes["nvml events"].status == "failed"

        watch.ticks(3)
        node.fault("*", "*", "none")
        node.fault("nvmlInit_v2", "system", "none")
        tick = watch.tick(advance=31)
        assert tick.outcomes["nvml"].status == "ok"
        assert [gpu.index for gpu in tick.gpus] == list(range(8))
        assert [gpu.lost for gpu in tick.gpus] == [False] * 8
        assert watch.tick().gpu(7).sm_active_ratio is not None
        assert len(tick.outcomes) == 11


def test_pauses_between_tries_grow(node: SimulatedNvml) -> None:
    node.fault("nvmlInit_v2", "system", "DRIVER_NOT_LOADED")
    with Watch(node.env()) as watch:
        for _ in range(40):
            tick = watch.tick()
        # At 0, 1, 3, 7, 15 and 31 seconds.
        assert node.calls()["nvmlInitWithFlags", None] == 6
        assert tick.outcomes["nvml"].status == "absent"
        assert tick.outcomes["nvml"].reason == "the NVIDIA driver is not loaded: modprobe nvidia"


def test_numbers_stay_with_their_chips_when_one_disappears_over_a_reload(
    node: SimulatedNvml,
) -> None:
    with Watch(node.env()) as watch:
        before = [gpu.uuid for gpu in watch.tick().gpus]
        node.fault("*", "*", "DRIVER_NOT_LOADED")
        watch.ticks(2)
        # The driver now counts seven, and numbers the chips after the third anew.
        node.fault("*", "*", "none")
        node.set({"gpu.count": 7})
        node.set({f"gpu.{n}.uuid": before[n + (n >= 3)] or "" for n in range(7)})
        tick = watch.tick(advance=31)
        assert [gpu.uuid for gpu in tick.gpus] == before
        assert [gpu.lost for gpu in tick.gpus] == [index == 3 for index in range(8)]


def test_driver_waits_for_a_blocked_gpu_before_it_shuts_down(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.ticks(2)
        node.delay("nvmlDeviceGetTemperature", 3, 30)
        assert watch.tick(hung="nvml gpu 3").blocked == ("nvml gpu 3",)
        for index in (0, 1, 2, 4, 5, 6, 7):
            node.fault("*", index, "DRIVER_NOT_LOADED")
        watch.tick(hung="nvml gpu 3")
        for _ in range(3):
            tick = watch.tick(hung="nvml gpu 3")
        assert "waiting for nvml gpu 3" in tick.outcomes["nvml"].reason
        assert ("nvmlShutdown", None) not in node.calls()
        node.delay("nvmlDeviceGetTemperature", 3, 0)
        for index in (0, 1, 2, 4, 5, 6, 7):
            node.fault("*", index, "none")
        watch.tick()
        tick = watch.tick(advance=31)
        assert node.calls()["nvmlShutdown", None] == 1
        assert tick.outcomes["nvml"].status == "ok"
        assert len(tick.gpus) == 8


def test_unknown_error_everywhere_is_explained(node: SimulatedNvml) -> None:
    with Watch(node.env()) as watch:
        watch.tick()
        node.fault("*", "*", "UNKNOWN")
        watch.tick()
        tick = watch.tick()
        assert tick.outcomes["nvml"].status == "failed"
        assert "answers nothing about any GPU" in tick.outcomes["nvml"].reason
        assert "in a container" in tick.outcomes["nvml"].reason
        node.fault("*", "*", "none")
        assert len(watch.tick(advance=31).gpus) == 8


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        ("NO_PERMISSION", "denied", "no permission to use the NVIDIA driver"),
        ("LIB_RM_VERSION_MISMATCH", "failed", "reboot or reload the module"),
        ("UNKNOWN", "failed", "driver says: Unknown Error"),
    ],
)
def test_driver_that_refuses_to_start(
    node: SimulatedNvml, error: str, status: str, reason: str
) -> None:
    node.fault("nvmlInit_v2", "system", error)
    with Watch(node.env()) as watch:
        tick = watch.tick()
        assert list(tick.outcomes) == ["nvml"]
        assert tick.outcomes["nvml"].status == status
        assert reason in tick.outcomes["nvml"].reason


def test_hang_in_the_start_blocks_only_the_driver_source(node: SimulatedNvml) -> None:
    node.delay("nvmlInit_v2", "system", 30)
    with Watch(node.env()) as watch:
        assert watch.tick(hung="nvml").blocked == ("nvml",)
        node.delay("nvmlInit_v2", "system", 0)
        watch.tick()
        assert len(watch.tick().gpus) == 8


def test_no_library_is_absent(tmp_path: Path) -> None:
    with Watch({**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}) as watch:
        outcome = watch.tick().outcomes["nvml"]
        # Importing the sources loads nothing of NVML.
        assert watch.ask(do="loaded") is False
    assert outcome.status == "absent"
    assert outcome.reason == "no NVIDIA driver library (libnvidia-ml.so.1) on the node"


def test_module_version_is_read_where_the_driver_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "driver/nvidia").mkdir(parents=True)
    (tmp_path / "driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
    )
    node = SimulatedNvml("l4", directory=tmp_path / "node")
    node.fault("nvmlInit_v2", "system", "LIB_RM_VERSION_MISMATCH")
    code = f"""
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from gputop.probes.sources.watchlist import Watchlist
from gputop.probes.sources.nvml.driver import NvmlDriver
from gputop.probes.sources.protocol import SourceError
try:
    NvmlDriver(print, Watchlist(), proc=Path({str(tmp_path)!r})).read()
except SourceError as error:
    print(error.reason)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], env=node.env(), capture_output=True, text=True, check=True
    )
    assert "module 570.86.15)" in run.stdout
