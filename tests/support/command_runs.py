"""What test_command_line.py and test_command_line_pids.py share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

GPUTOP = [sys.executable, "-P", "-m", "gputop"]


def run(
    *words: str, env: Mapping[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*GPUTOP, *words],
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done
