"""The GPU's times on a real one. Skipped where there is none; run it with a torch that has CUDA."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.torch_python import TORCH_PYTHON, needs_torch

FOLDER = Path(__file__).parent


def _has_gpu() -> bool:
    if not TORCH_PYTHON or not Path("/dev/nvidiactl").exists():
        return False
    code = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([TORCH_PYTHON, "-c", code], check=False, timeout=120).returncode == 0


@needs_torch
@pytest.mark.skipif(not _has_gpu(), reason="needs a GPU, and a torch that has CUDA")
def test_steps_on_a_real_gpu_get_their_times() -> None:
    package = FOLDER.parent.parent / "probes"
    run = subprocess.run(
        [TORCH_PYTHON, str(FOLDER / "gpu_steps.py"), str(package)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    reported = json.loads(run.stdout)
    assert reported["hooks"]["gpu_time"] == reported["hooks"]["allocator"] == "on"
    timed = [step for step in reported["steps"][5:] if step["gpu"].get("forward")]
    assert len(timed) > 20
    for step in timed:
        assert step["run_ahead"] is not None
        assert step["gpu"]["backward"] > 0
        assert sum(time or 0 for time in step["gpu"].values()) < 3 * step["duration"]
    print(f"recording an event: {reported['record_ns']:.0f} ns")
