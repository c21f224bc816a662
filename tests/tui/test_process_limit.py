"""A user who may start next to nothing more (RLIMIT_NPROC): one sentence, an exit code, and no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gputop.probes.scheduling.process_limit import SENTENCE, is_process_limit

from support.another_user import AS_ANOTHER

LONG_SECONDS = 120.0
WORDS = (("demo", "healthy", "--once"), ("--once",), ("diagnose", "--for", "1"))


def limited(most: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Root has no such limit, so another user runs it."""
    inside = f"ulimit -u {most}; exec {sys.executable} -P -m gputop {' '.join(words)}"
    return subprocess.run(
        [*AS_ANOTHER, "bash", "-c", inside],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=LONG_SECONDS,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def another_user() -> None:
    done = subprocess.run(
        [*AS_ANOTHER, "env", sys.executable, "-c", "import gputop"], cwd="/", check=False
    )
    if done.returncode:
        pytest.skip("no other user can run gputop here")


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("most", [1, 3, 6])
def test_no_traceback_at_any_limit(most: int, words: tuple[str, ...]) -> None:
    done = limited(most, *words)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
    assert len(done.stderr.strip().splitlines()) <= 2


def test_the_limit_is_what_is_told() -> None:
    done = limited(1, "--once")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == f"gputop: {SENTENCE}"


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (RuntimeError("can't start new thread"), True),
        (BlockingIOError(11, "Resource temporarily unavailable"), True),
        (RuntimeError("generator raised StopIteration"), False),
        (PermissionError(1, "Operation not permitted"), False),
    ],
)
def test_what_says_so(error: BaseException, is_it: bool) -> None:
    assert is_process_limit(error) is is_it
