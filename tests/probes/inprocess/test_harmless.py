"""A job with the probe in it does what it does without."""

from __future__ import annotations

import pytest

from gputop.probes.inprocess import layout

from support.torch_job import JOBS, explain, run
from support.torch_python import needs_torch

pytestmark = [needs_torch, pytest.mark.slow]


def test_the_same_losses_output_and_exit_code() -> None:
    with_probe = run(JOBS / "lossy.py")
    without = run(JOBS / "lossy.py", probe=False)
    assert with_probe.status == without.status == 7
    assert with_probe.output == without.output
    assert with_probe.output.startswith("200 ")
    assert with_probe.errors == without.errors
    assert with_probe.page.newest.number == 200


def test_no_graph_break_is_added() -> None:
    with_probe = run(JOBS / "compiled.py")
    without = run(JOBS / "compiled.py", probe=False)
    assert with_probe.status == without.status == 0, explain(with_probe)
    assert with_probe.output == without.output
    assert with_probe.page.totals()["compile"] > 0
    assert with_probe.page.newest.number >= 30


def test_collectives_in_compiled_functions() -> None:
    done = run(JOBS / "collective_compiled.py", ranks=2)
    assert done.status == 0, explain(done)
    assert done.output == "[4.0, 4.0, 4.0] 0\n" * 2


def test_errors_of_the_job_pass_through_and_close_their_phases() -> None:
    with_probe = run(JOBS / "troubled.py")
    without = run(JOBS / "troubled.py", probe=False)
    assert with_probe.status == without.status == 0, explain(with_probe)
    assert with_probe.output == without.output
    assert len(with_probe.output.splitlines()) == 6
    page = with_probe.page
    assert all(
        state == "on" or state.startswith("off: no") for state in page.facts["hooks"].values()
    )
    # Had the optimizer's step that raised stayed open, the loop would be in it ever since.
    assert page.newest.number == 6
    last = {layout.PHASES[code] for code, _, _ in page.steps[-1].phases}
    assert last >= {"data", "forward", "backward", "optimizer"}


def test_workers_and_copies_have_nothing_of_the_probe() -> None:
    done = run(JOBS / "workers.py")
    assert done.status == 0, explain(done)
    assert done.output.splitlines() == ["fork 1", "spawn 1", "[]", "[]"]
    loader = done.page.facts["loader"]
    assert loader["num_workers"] == 2
    assert loader["prefetch_factor"] == 2
