"""What the page says of jobs whose phases take a known time: shares, steps, and what else is reported."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from support.torch_job import JOBS, Done, explain, run, shares
from support.torch_python import needs_torch, torch_python_has

pytestmark = [needs_torch, pytest.mark.slow]

POINTS = 0.03
"""A share may be so far from the truth."""
TRIES = 3


class Case(NamedTuple):
    """A job, and how many steps it takes."""

    script: str
    steps: int
    micro_steps: int
    samples: float
    preload: tuple[str, ...] = ()
    skipped: int = 0
    evaluations: int = 0


CASES = [
    Case("bare", 12, 1, 24),
    Case("accumulation", 8, 2, 16),
    Case("no_loader", 10, 1, 0),
    Case("lbfgs", 8, 3, 8),
    Case("gan", 10, 2, 10),
    Case("scaler", 12, 1, 12, skipped=4),
    Case("evaluation", 15, 1, 15, evaluations=4),
    Case("accelerated", 10, 2, 20, ("accelerate",)),
    Case("lightning_fit", 10, 2, 20, ("lightning",), evaluations=3),
    Case("hf_trainer", 10, 2, 20, ("transformers.trainer",), evaluations=3),
]


def job(script: str, ranks: int = 1, preload: tuple[str, ...] = ()) -> Done:
    """Run one of the jobs, which must end well, with no hook in trouble."""
    done = run(JOBS / f"{script}.py", ranks=ranks, preload=preload)
    assert done.status == 0, explain(done)
    for page in done.pages:
        hooks = {name: state for name, state in page.facts["hooks"].items() if state != "on"}
        assert hooks == {"allocator": "off: no CUDA", "gpu_time": "off: no CUDA"}, explain(done)
        assert "trouble" not in page.facts
    return done


def near_the_truth(script: str, *but: str, ranks: int = 1, preload: tuple[str, ...] = ()) -> Done:
    """Run one of the jobs until the shares on its page are those of its pauses.

    What no pause accounts for is torch's own work, which takes longer while the machine does other
    things too. So there is a second and a third try. The first two steps are left out: in the first one
    the model is not known yet.
    """
    far: list[tuple[str, float, float]] = []
    for _ in range(TRIES):
        done = job(script, ranks, preload)
        far = [
            (phase, reported, true)
            for page, pauses in zip(done.pages, done.pauses, strict=True)
            for phase, (reported, true) in shares(page.steps[2:], pauses).items()
            if phase not in but and abs(reported - true) >= POINTS
        ]
        if not far:
            return done
    pytest.fail(f"too far from the truth: {far}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.script)
def test_a_job_padded_with_known_times(case: Case) -> None:
    but = ("other", "gc", *(["optimizer"] if case.script == "lbfgs" else []))
    done = near_the_truth(case.script, *but, preload=case.preload)
    newest = done.page.newest
    assert newest.number == case.steps
    assert newest.all_skipped == case.skipped
    assert done.page.evaluations == case.evaluations
    assert abs(newest.all_samples - case.samples) <= 1, "a loader may be a batch ahead"
    assert {step.micro_steps for step in done.page.steps} == {case.micro_steps}


def test_evaluation_and_checkpoints_belong_to_no_step() -> None:
    done = job("evaluation")
    totals = done.page.totals()
    whole = sum(totals.values())
    for phase in ("eval", "checkpoint"):
        true = sum(each.duration for each in done.pauses[0] if each.phase == phase)
        assert abs(totals[phase] - true) / whole < POINTS
        assert phase not in shares(done.page.steps[2:], [])


def test_inference_has_a_step_for_each_batch() -> None:
    done = job("inference")
    assert done.page.newest.number == 8, "the model is known from the third draw on"
    assert shares(done.page.steps, [])["forward"][0] > 0.3


def test_without_an_optimizer_that_can_be_seen_the_draws_count() -> None:
    done = near_the_truth("by_hand", "other", "gc")
    number = done.page.newest.number
    assert number == 13, "the first one is of the eight micro-steps that it took to see it"


def test_ddp_tells_its_groups_and_collectives() -> None:
    # A rank waits for the other in backward and in its collective.
    done = near_the_truth("ddp", "backward", "comm", "other", "gc", ranks=2)
    for rank, page in enumerate(done.pages):
        assert page.newest.number == 12
        assert page.facts["rank"] == rank
        assert page.facts["world_size"] == 2
        assert page.facts["groups"] == [{"name": "default_pg", "ranks": [0, 1]}]
        assert page.group(0) == (14, 14, "barrier"), "12 in the loop, one not waited for, a barrier"
        own = page.gauges["ddp"]
        assert own["backward_compute_ns"] > 40e6, "its backward is padded with that"
        assert 0 < own["backward_overlap_ns"] <= own["backward_comm_ns"]
        assert page.totals()["comm"] > 0


def test_what_an_asynchronous_collective_takes_is_what_is_waited_for_it() -> None:
    done = job("overlapped", ranks=2)
    reported = json.loads(done.output.splitlines()[0])
    assert reported["before"] == [1, 1, 0, "startup"]
    assert reported["launched"] == [2, 1, 1, "startup"], "in flight, and the host has gone on"
    assert reported["waited"] == [2, 2, 0, "startup"]
    assert reported["let go of"] == [3, 3, 0, "startup"]
    assert reported["waited_seconds"] > 0.3
    assert reported["in_comm_waiting"] == pytest.approx(reported["waited_seconds"], abs=0.05)
    assert reported["in_comm_overlapped"] == 0


def test_fsdp2_gathers_in_the_forward_and_the_backward() -> None:
    done = near_the_truth("fsdp2", "forward", "backward", "comm", "other", "gc", ranks=2)
    for page in done.pages:
        assert page.newest.number == 12
        launched, returned, _ = page.group(0)
        assert launched == returned > 12 * 3
        assert page.totals()["comm"] > 0


@pytest.mark.skipif(not torch_python_has("deepspeed"), reason="that Python has no deepspeed")
def test_zero_has_one_step_for_many_optimizer_calls() -> None:
    # Its reduction of the gradients runs within the backward.
    but = ("backward", "comm", "other", "gc")
    done = near_the_truth("zero", *but, ranks=2, preload=("deepspeed",))
    for page in done.pages:
        assert page.newest.number == 10
        assert {step.micro_steps for step in page.steps} == {2}
        assert page.totals()["comm"] > 0


def test_versions_and_precision_are_reported() -> None:
    done = job("scaler")
    assert done.page.facts["torch"][0].isdigit()
    assert done.page.facts["precision"] == "bfloat16 (autocast)"
    assert job("bare").page.facts["precision"] == "float32"
