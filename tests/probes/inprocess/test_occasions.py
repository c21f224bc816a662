"""What happens now and then: a checkpoint in the background, a probe that comes late."""

from __future__ import annotations

import pytest

from gputop.probes.inprocess import layout

from torch_job import JOBS, explain, run, shares
from torch_python import needs_torch

pytestmark = [needs_torch, pytest.mark.slow]


def test_a_checkpoint_in_the_background_is_a_phase_of_its_thread() -> None:
    done = run(JOBS / "saving.py", preload=("torch.distributed.checkpoint",))
    assert done.status == 0, explain(done)
    page = done.page
    assert page.facts["hooks"]["checkpoint"] == "on"
    assert page.totals()["checkpoint"] > 0
    others = [page.totals(slot).get("checkpoint", 0) for slot in range(1, layout.THREADS)]
    assert max(others) > 0
    assert page.newest.number == 10
    assert all(
        layout.CODES["checkpoint"] not in {code for code, _, _ in step.phases}
        for step in page.steps
    )


def test_a_probe_that_is_attached_while_the_job_trains_finds_its_phases() -> None:
    done = run(JOBS / "late.py", probe=False)
    assert done.status == 0, explain(done)
    # The first step after it has begun in the middle; the last one is closed by the end of the job.
    assert 10 <= done.page.newest.number <= 12
    for phase, (told, true) in shares(done.page.steps[3:], done.pauses[0]).items():
        assert abs(told - true) < 0.03, (phase, told, true)
