"""The case that every other monitor fails: the driver hangs, and the screen must not.

Two kinds: a call that blocks (the simulated driver), and one that blocks in the kernel where not even
SIGKILL reaches (a folder that hangs, from which the driver's library is loaded).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.another_user import AS_ANOTHER
from support.terminal import Tmux
from support.wedge import wedged_driver, wedged_folder

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
BLOCK_SECONDS = 30
QUIT_SECONDS = 5.0
"""Five times the target of one second, and far below the block."""

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def on_screen(env: Mapping[str, str], *options: str) -> Tmux:
    return Tmux([*GPUTOP, *options], columns=200, lines=50, env=env)


def gpu_row(screen: str, index: int) -> str:
    return next(line for line in screen.splitlines() if re.match(rf"\s*{index} ", line))


def quits(program: Tmux) -> float:
    """Press q; how long it took until the shell had the terminal back."""
    began = time.monotonic()
    program.type("q")
    program.wait_for("exit code 0", 40)
    return time.monotonic() - began


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetUtilizationRates", "nvmlDeviceGetFieldValues", "*"]
)
def test_one_gpu_that_blocks_is_marked_and_the_rest_stays_live(
    node: SimulatedNvml, function: str
) -> None:
    with closing(on_screen(node.env(), "--interval", "0.5")) as program:
        program.wait_for("nothing found")
        node.delay(function, 3, BLOCK_SECONDS)
        program.wait_for("silent", 20)
        node.set({"gpu.5.power": 123})
        screen = program.wait_for("123/700", 10)
        assert "silent" in gpu_row(screen, 3)
        assert sum("silent" in line for line in screen.splitlines()) == 1
        program.type("?")
        program.wait_for("next panel", 5)
        program.type("Escape")
        program.wait_for("123/700", 5)  # else Escape and q would arrive as one key, Alt-q
        assert quits(program) < QUIT_SECONDS


def test_a_driver_that_blocks_from_the_start_leaves_the_host_and_the_keys(
    node: SimulatedNvml,
) -> None:
    node.delay("nvmlInit_v2", "system", BLOCK_SECONDS)
    with closing(on_screen(node.env())) as program:
        screen = program.wait_for("driver not answering", 20)
        assert "none: the driver hangs before it lists them" in screen
        assert quits(program) < QUIT_SECONDS


def test_after_quitting_the_terminal_is_as_it_was(node: SimulatedNvml) -> None:
    node.delay("*", 3, BLOCK_SECONDS)
    with closing(on_screen(node.env())) as program:
        program.wait_for("H100")
        quits(program)
        screen = program.screen()
        assert "H100" not in screen  # the alternate screen was left
        program.type("sane")
        program.wait_for("sane", 5)  # and what is typed is echoed


def test_a_collector_that_cannot_be_killed_is_left_behind_and_named() -> None:
    with wedged_driver() as env:
        with closing(as_another(env)) as program:
            program.wait_for("driver not answering", 20)
            pid = left_behind(program)
        with closing(as_another(env, "--once")) as program:
            screen = program.wait_for("exit code", 20).replace("\n", " ")
            assert f"pid {pid}" in screen
            assert "without NVML" in screen


def test_a_collector_that_never_says_a_word_does_not_hold_the_screen() -> None:
    """Loading the driver's library hangs, which stops the whole interpreter of the collector."""
    with wedged_folder("libnvidia-ml.so.1") as folder:
        env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
        with closing(as_another(env)) as program:
            program.wait_for("quit", 20)
            left_behind(program)


def as_another(env: Mapping[str, str], *options: str) -> Tmux:
    return Tmux([*AS_ANOTHER, *GPUTOP, *options], columns=200, lines=50, env=env)


def left_behind(program: Tmux) -> int:
    """Quit, in good time; the pid of the collector that stayed in the kernel."""
    assert quits(program) < QUIT_SECONDS
    screen = program.screen()
    found = re.search(r"collector \(pid (\d+)\) hangs in the driver", screen.replace("\n", ""))
    assert found, screen
    stat = Path(f"/proc/{found.group(1)}/stat").read_text()
    assert stat.rsplit(")", 1)[1].split()[0] in "DZ"
    return int(found.group(1))
