"""psutil takes longer to import than all else that the first picture needs: whoever draws it has none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import psutil
import pytest

from nvml.simulated import SimulatedNvml
from support.terminal import Pty

GPUTOP = [sys.executable, "-P", "-m", "gputop"]


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


def has_psutil(process: psutil.Process) -> bool:
    """Whether its extension module is in the memory of the process."""
    return any("/psutil/" in each.path for each in process.memory_maps())


def test_who_has_imported_it_is_known() -> None:
    assert has_psutil(psutil.Process())


@pytest.mark.parametrize(
    ("words", "processes"),
    [([], 2), (["demo"], 1)],
    ids=["gputop", "gputop demo"],
)
def test_neither_the_first_picture_nor_the_collector_loads_it(
    node: SimulatedNvml, words: list[str], processes: int
) -> None:
    with closing(Pty([*GPUTOP, *words], columns=132, lines=43, env=node.env())) as program:
        program.wait_for("Enter", 20)
        tree = program.tree()
        assert len(tree) == processes, tree
        assert [each.pid for each in tree if has_psutil(each)] == []


@pytest.mark.parametrize("words", [["--once"], ["demo", "--once"]], ids=" ".join)
def test_one_frame_loads_none_of_it(node: SimulatedNvml, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "gputop", *words],
        env=node.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "msgspec" in imported
    assert "psutil" not in imported
