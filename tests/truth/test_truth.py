"""A choice of the corpus that is quick, held; ``python -m tests.truth`` runs all of it and prints the table."""

from __future__ import annotations

import pytest

from support.torch_python import TORCH_PYTHON, needs_torch
from truth.__main__ import CASES
from truth.known import known
from truth.outcome import measure
from truth.report import row
from truth.start import Setting

HEALTHY_SECONDS = 10.0
CHOICE = (
    ("one of two: spin", "probe"),
    ("saving: fifo_open", "bare"),
    ("in rendezvous: flock", "bare"),
    ("meeting: another", "probe"),
    ("meeting: sits_in_exit", "bare"),
    ("loader: deadlocked beside a rank that waits", "probe"),
    ("main process first", "bare"),
    ("functions called save, evaluate, sleep", "probe"),
    ("idle: engine with two workers", "bare"),
)


def _parameters() -> list[object]:
    reasons = known()
    return [
        pytest.param(
            name,
            mode,
            marks=pytest.mark.xfail(strict=True, reason=reason)
            if (reason := reasons.reason(name, mode))
            else (),
        )
        for name, mode in CHOICE
    ]


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), _parameters())
def test_the_verdict_is_true(name: str, mode: str) -> None:
    (case,) = [case for case in CASES if case.name == name]
    outcome = measure(case, Setting(TORCH_PYTHON, probe=mode == "probe"), HEALTHY_SECONDS)
    assert not outcome.broken, outcome.broken
    assert not outcome.failure, row(outcome, "")
