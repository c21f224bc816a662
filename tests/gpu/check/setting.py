"""How the check is run: what every part is told."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

TORCH_SCRIPTS = Path(__file__).parents[1]
"""Scripts that a Python with torch runs, and that import nothing of ours."""
PACKAGE = Path(__file__).parents[3] / "probes"
_TORCH_SECONDS = 40.0
_DYING_SECONDS = 10.0


@dataclass(frozen=True)
class Setting:
    """Of one run of the check."""

    folder: Path
    """Where what the parts keep lies: jobs' output, traces, snapshots."""
    python: str
    """The Python that has torch."""
    device: str
    """``cuda``, or ``cpu`` to try the jobs' code where there is none: then nothing is judged."""
    watch_seconds: float
    """For how long a job is watched before the verdict."""
    ends_at: float
    """Monotonic time at which this part is cut off."""
    no_jobs: str = ""
    """Why no job can run on the device; empty where they can."""

    @property
    def left_seconds(self) -> float:
        return self.ends_at - time.monotonic()


def why_no_jobs(python: str, device: str) -> str:
    """Why no job can run on the device; empty where they can."""
    code = "import sys, torch; sys.exit(3 if torch.cuda.is_available() else 4)"
    try:
        asked = ask([python, "-c", code], _TORCH_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{python} does not answer whether there is CUDA: {error}"
    if asked.returncode not in (3, 4):
        return f"{python} has no torch (GPUTOP_TORCH_PYTHON names one that has)"
    return "no CUDA here" if asked.returncode == 4 and device == "cuda" else ""


def gputop(*words: str) -> list[str]:
    """The command, of the environment that this runs in."""
    return [sys.executable, "-P", "-m", "gputop", *words]


def ask(
    words: Sequence[str], seconds: float, *, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
    """
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=max(seconds, 1.0),
        check=False,
        env=environment,
    )


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started, the children that are sessions of their own too.

    One that is stuck in the driver is left behind: it would be waited for without end.
    """
    below: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for each in below:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_DYING_SECONDS)
