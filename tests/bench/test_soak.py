"""A day in which everything comes and goes grows by less than 5 MiB: see `soak`.

Run with ``pytest -m bench -s tests/bench/test_soak.py``; ``GPUTOP_SOAK_HOURS`` takes another time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOURS = os.environ.get("GPUTOP_SOAK_HOURS", "24")
SOAK = str(Path(__file__).with_name("soak.py"))


@pytest.mark.bench
@pytest.mark.parametrize("part", ["screen", "collector", "pages"])
def test_a_day_of_churn(part: str) -> None:
    subprocess.run([sys.executable, SOAK, part, "--hours", HOURS], check=True)
