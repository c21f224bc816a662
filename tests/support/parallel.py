"""How many tests run at a time where nobody has said it: many for the whole suite, one for a few files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PER_CORE = 2.5
"""More at a time than there are cores: half of the tests wait for something."""
FILES_EACH = 4
"""A worker starts and collects in the time that a few files take."""


def workers(config: pytest.Config, cores: int) -> int:
    """The number of workers; 0: pytest itself runs the tests, one by one.

    Args:
        config: of this run.
        cores: that this process may run on.
    """
    if _is_for_one_at_a_time(config):
        return 0
    count = min(int(PER_CORE * cores), _files(config) // FILES_EACH)
    return count if count > 1 else 0


def _is_for_one_at_a_time(config: pytest.Config) -> bool:
    """Choices of a few, output that is to be seen as it comes, and what measures the machine."""
    option = config.option
    benches = "bench" in option.markexpr.replace("not bench", "")
    return bool(option.keyword or benches or option.capture == "no" or getattr(option, "lf", False))


def _files(config: pytest.Config) -> int:
    paths = [Path(config.invocation_params.dir, each.partition("::")[0]) for each in config.args]
    return sum(len(list(path.rglob("test_*.py"))) if path.is_dir() else 1 for path in paths)


def usable_cores() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0))
