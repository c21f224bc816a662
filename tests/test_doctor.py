"""``gputop doctor`` on drivers that block, refuse and are not there: real processes throughout."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
def test_a_driver_that_blocks_is_told_with_the_rest(
    function: str, where: int | str, blocked: str
) -> None:
    with SimulatedNvml("h100x8") as node:
        node.delay(function, where, 30)
        done = doctor(node=node, timeout=20)
    found = states(done.stdout)
    assert found[blocked][0] == "stale"
    assert found[blocked][1].startswith("no answer for ")
    assert found["host"][0] == "ok"
