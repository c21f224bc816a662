"""How long the shell waits for its terminal after q, while a call of the driver hangs.

Run with ``pytest -m bench -s tests/bench/test_quit_time.py``.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from statistics import median

import pytest

from nvml.simulated import SimulatedNvml
from support.terminal import Pty

GPUTOP = [str(Path(sys.executable).with_name("gputop"))]
BLOCK_SECONDS = 30.0
TARGET_SECONDS, DEADLINE_SECONDS = 1.0, 5.0
TURNS = 5

pytestmark = pytest.mark.bench


@pytest.mark.parametrize(
    ("function", "gpu", "sign"),
    [
        ("nvmlDeviceGetUtilizationRates", 3, "silent"),
        ("*", 3, "silent"),
        ("nvmlInit_v2", "system", "driver not answering"),
    ],
)
def test_time_from_q_to_the_end(function: str, gpu: int | str, sign: str) -> None:
    taken: list[float] = []
    for _ in range(TURNS):
        with SimulatedNvml("h100x8") as node:
            if gpu == "system":
                node.delay(function, gpu, BLOCK_SECONDS)
            with closing(Pty(GPUTOP, columns=200, lines=50, env=node.env())) as program:
                program.wait_for("quit", 30)
                node.delay(function, gpu, BLOCK_SECONDS)
                program.wait_for(sign, 30)
                began = time.monotonic()
                program.type("q")
                assert program.process.wait(BLOCK_SECONDS) == 0
                taken.append(time.monotonic() - began)
    print(
        f"\n{function} hangs on {gpu}: from q to the end {median(taken):.2f} s, "
        f"at most {max(taken):.2f} s of {TURNS} (target {TARGET_SECONDS:g} s)"
    )
    assert max(taken) < DEADLINE_SECONDS
