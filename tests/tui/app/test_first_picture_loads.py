"""What the first picture loads: nothing that it does not show, and nothing in both processes that one can have."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nvml.simulated import SimulatedNvml
from support.terminal import Pty

NOT_AT_START = (
    "psutil",
    "prometheus_client",
    "gputop.probes.recording",
    "gputop.probes.simulator",
    "gputop.tui.reports",
    "gputop.tui.screens.job_screen",
)
TRIED_IN_VAIN = frozenset({"_winapi", "nt", "org", "org.python", "org.python.core"})
"""Looked for by others at each import, and not there."""


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def loaded(node: SimulatedNvml, log: Path) -> Counter[str]:
    """How often each module was loaded, by the front end and the collector, until the first picture."""
    command = [sys.executable, "-P", "-X", "importtime", "-m", "gputop", "--interval", "30"]
    shell = f"exec {shlex.join(command)} 2>{shlex.quote(str(log))}"
    env = {**node.env(), "GPUTOP_DEBUG": "1"}
    with closing(Pty(["sh", "-c", shell], columns=132, lines=43, env=env)) as program:
        program.wait_for("H100", 30)
        time.sleep(0.1)
        text = log.read_text(errors="replace")
    lines = [line for line in text.splitlines() if line.startswith("import time:")]
    return Counter(line.rpartition("|")[2].strip() for line in lines)


def test_the_first_picture_loads_only_what_it_needs(node: SimulatedNvml, tmp_path: Path) -> None:
    modules = loaded(node, tmp_path / "imports")
    needed = {"asyncio", "ctypes", "gputop.rules.catalogue", "gputop.probes.sources.nvml.gpu"}
    assert needed <= modules.keys()
    assert [name for name in NOT_AT_START if name in modules] == []
    twice = {name for name, times in modules.items() if times > 1} - TRIED_IN_VAIN
    assert twice == set()
