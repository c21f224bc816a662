"""What happens now and then: a checkpoint in the background, a probe that comes late."""

from __future__ import annotations

import time

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.model.probe_readings import ProbeReading

from support.probe_job import job, reading_of
from support.terminal import wait_until
from support.torch_job import JOBS, explain, run, shares
from support.torch_python import TORCH_PYTHON, needs_torch

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
    for phase, (reported, true) in shares(done.page.steps[3:], done.pauses[0]).items():
        assert abs(reported - true) < 0.03, (phase, reported, true)


def test_a_worker_that_waits_for_itself_leaves_its_rank_in_data() -> None:
    code = f"import runpy\nsay('in')\nrunpy.run_path({str(JOBS / 'stuck_worker.py')!r})"
    with job(code, python=TORCH_PYTHON) as running:
        assert running.line() == "in"

        def is_stuck() -> bool:
            reading = reading_of(running.pid)
            return reading.phase == "data" and reading.step == 12

        wait_until(is_stuck, 60, "it waits for the 13th item")
        time.sleep(2.0)
        reading = reading_of(running.pid)
    assert is_older_than(reading, 2.0)
    assert (reading.phase, reading.step, reading.error) == ("data", 12, None)
    assert reading.loader
    assert (reading.loader.num_workers, reading.loader.queue_depth) == (1, 0)
    assert len(reading.loader.worker_pids) == 1


def test_draws_that_find_a_worker_dead_are_counted() -> None:
    code = f"import runpy\nsay('in')\nrunpy.run_path({str(JOBS / 'dying_workers.py')!r})"
    with job(code, python=TORCH_PYTHON) as running:
        assert running.line() == "in"

        def has_gone_on() -> bool:
            reading = reading_of(running.pid)
            return reading.loader is not None and reading.loader.failures == 3

        wait_until(has_gone_on, 60, "it has met three dead workers")
        time.sleep(1.5)
        reading = reading_of(running.pid)
    assert reading.loader is not None and reading.loader.failures == 3
    assert reading.error is None and reading.instruments["loader"] == "on"


def is_older_than(reading: ProbeReading, seconds: float) -> bool:
    """Its phase is."""
    began = reading.phase_monotonic_seconds
    return began is not None and reading.monotonic_seconds - began >= seconds
