"""What the probe costs a training job; prints the figures beside what they should reach.

Times are of one thread's processor time, and the best of many runs: what else runs on the machine adds to
each of them. A step's cost is the sum of what its hooks take around functions that do nothing.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torch_job import JOBS, PYTHON, needs_torch

pytestmark = [pytest.mark.bench, needs_torch]

_STORE_NS = 205.0
"""Of a bare store of the phase word, on the machine for which the limits below were set."""


@pytest.fixture(scope="module")
def cost() -> dict[str, Any]:
    package = Path(__file__).parent.parent.parent / "probes"
    run = subprocess.run(
        [PYTHON, "cost.py", str(package), "60"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=JOBS,
    )
    figures: dict[str, Any] = json.loads(run.stdout)
    assert {figures["hooks"][name] for name in ("loader", "backward", "optimizer")} == {"on"}
    return figures


def test_a_phase_edge_beside_a_bare_store(cost: dict[str, Any]) -> None:
    ratio = cost["edge_ns"] / cost["store_ns"]
    print(f"\nedge {cost['edge_ns']:.0f} ns, store {cost['store_ns']:.0f} ns: {ratio:.1f} (4)")
    assert ratio <= 4.5


def test_all_hooks_of_a_step(cost: dict[str, Any]) -> None:
    added = {name: cost["with"][name] - cost["without"][name] for name in cost["with"]}
    slow = cost["store_ns"] / _STORE_NS
    step = added["step"] / 1e3
    print("\n" + ", ".join(f"{name} {time / 1e3:.1f} µs" for name, time in added.items()))
    print(f"step {step:.0f} µs (50), {step / 1e4:.2%} of 10 ms (0.5 %); store × {slow:.2f}")
    assert step < 2 * 50 * max(slow, 1.0)
