"""The ten things that a job can be, reported rightly within ten seconds, whoever looks and whatever is denied.

Two gloo ranks under torchrun, started without anything of gputop. Where ptrace is denied, threads, wait
channels and counters must do: nine of ten are reported; a mismatch of collectives is seen, but nobody can be
named for it. A job that does not let itself be inspected shows even less.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.another_user import AS_ANOTHER
from support.job_scenarios import SCENARIOS, Outcome, play
from support.torch_python import TORCH_PYTHON, needs_torch

pytestmark = [needs_torch, pytest.mark.slow]

WITHOUT_PTRACE = (sys.executable, str(Path(__file__).parent.parent / "support/without_ptrace.py"))

VEILED: dict[str, dict[str, int | None]] = {
    "sleeping data set": {"RUN405": None},
    "blocked read": {"RUN405": None},
    "endless loop": {"RUN406": 1},
    "mismatch": {"RUN405": None},
    "stopped": {"RUN423": 1},
    "killed": {"RUN424": 1},
    "dead loader": {"RUN405": None},
}
"""What state, CPU and context switches alone tell: that all of them sleep, but not who for whom."""


def why_not() -> str:
    """What keeps a job from being an ordinary user's; empty where nothing does."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return "only root can become an ordinary user"
    # One program more: setpriv still has root's rights when it starts the first.
    reached = subprocess.run(
        [*AS_ANOTHER, "env", TORCH_PYTHON or "true", "--version"], capture_output=True, check=False
    )
    return "" if reached.returncode == 0 else f"an ordinary user cannot run {TORCH_PYTHON}"


as_other_user = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that other users can enter, as pytest's own is not."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o777)
        yield Path(path)


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_the_one_who_started_it(name: str, folder: Path) -> None:
    outcome = play(name, folder)
    check(name, outcome)
    if name == "blocked read":
        (finding,) = [each for each in outcome.report["findings"] if each["id"] == "HST125"]
        reported = {each["signal"]: each["value"] for each in finding["evidence"]}
        assert reported["file"] == f"opens {folder}/fifo"
        assert "mount" in reported


@as_other_user
@pytest.mark.parametrize("name", SCENARIOS)
def test_as_an_ordinary_user(name: str, folder: Path) -> None:
    check(
        name, play(name, folder, job_before=AS_ANOTHER, gputop_before=AS_ANOTHER, HOME=str(folder))
    )


@as_other_user
@pytest.mark.parametrize("name", SCENARIOS)
def test_as_an_ordinary_user_without_ptrace(name: str, folder: Path) -> None:
    before = (*WITHOUT_PTRACE, *AS_ANOTHER)
    outcome = play(name, folder, job_before=AS_ANOTHER, gputop_before=before, HOME=str(folder))
    expected = {"RUN405": None} if name == "mismatch" else SCENARIOS[name].found
    assert outcome.found == expected
    for rank in outcome.ranks:
        assert rank["phase_source"] == "inferred"
        assert "seccomp" in rank["missing"]["stack"]


@as_other_user
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_job_that_does_not_let_itself_be_inspected(name: str, folder: Path) -> None:
    outcome = play(
        name,
        folder,
        job_before=AS_ANOTHER,
        gputop_before=AS_ANOTHER,
        HOME=str(folder),
        DUMPABLE="0",
    )
    assert outcome.processes == VEILED.get(name, {})
    assert set(outcome.found.values()) <= {None}  # its variables are hidden, and so is its rank
    for rank in outcome.ranks:
        assert "dumpable" in rank["missing"]["stack"]


def check(name: str, outcome: Outcome) -> None:
    """That it was reported rightly, with the exit code that goes with it."""
    assert outcome.found == SCENARIOS[name].found
    fine = name in ("healthy", "compiling", "checkpoint")
    assert outcome.code == (0 if fine else 1)
    if name != "killed":
        assert [rank["rank"] for rank in outcome.ranks] == [0, 1]
