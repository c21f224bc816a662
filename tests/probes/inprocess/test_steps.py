"""Steps reported from what a job does: one test for each kind of loop that trains."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gputop.probes.inprocess import layout
from gputop.probes.inprocess.layout import Step
from gputop.probes.inprocess.steps import Steps
from gputop.probes.inprocess.track import make_track

A, B = 1001, 1002


class Loop:
    """A loop that has steps, and what came of them."""

    def __init__(self) -> None:
        words = memoryview(bytearray(layout.PAGE_SIZE)).cast("Q")
        self.track = make_track(words, 0, layout.CODES["other"], 1)
        self.found: list[Step] = []
        self.evaluations: list[int] = []
        self.steps = Steps(self.track, self._store, [], self.evaluations.append)

    def _store(self, index: int, payload: bytes) -> None:
        assert index == len(self.found)
        step = layout.unpack_step(payload)
        assert step
        self.found.append(step)

    def micro(self, draw: bool = True) -> None:
        """A batch forward and backward."""
        if draw:
            self.within("data", self.steps.drawing)
        self.within("forward", self.steps.forward)
        self.within("backward", self.steps.backward)
        self.steps.backward_done()

    def within(self, phase: str, event: Callable[[], None]) -> None:
        """An event and the phase that it begins."""
        event()
        self.track.leave(self.track.enter(layout.CODES[phase]))

    def optimize(self, key: int = A, skipped: bool = False) -> None:
        """An optimizer steps."""
        moment = self.track.leave(self.track.enter(layout.CODES["optimizer"]))
        self.steps.optimizer_done(key, moment, skipped)


@pytest.fixture
def loop() -> Loop:
    return Loop()


def test_a_plain_loop_has_a_step_for_each_optimizer_step(loop: Loop) -> None:
    for _ in range(10):
        loop.micro()
        loop.optimize()
    loop.steps.drawing()
    assert len(loop.found) == 10
    assert [step.number for step in loop.found] == list(range(1, 11))
    assert all(step.micro_steps == 1 and not step.skipped for step in loop.found)


def test_the_phases_of_a_step_sum_to_its_duration(loop: Loop) -> None:
    for _ in range(10):
        loop.micro()
        loop.optimize()
    for step in loop.found:
        assert sum(host for _, host, _ in step.phases) == step.duration


def test_steps_follow_one_another_without_a_gap(loop: Loop) -> None:
    for _ in range(6):
        loop.micro()
        loop.optimize()
    for before, after in zip(loop.found, loop.found[1:], strict=False):
        assert after.ended - after.duration == before.ended


def test_accumulation_is_micro_steps_of_one_step(loop: Loop) -> None:
    for _ in range(3):
        for _ in range(4):
            loop.micro()
        loop.optimize()
    loop.steps.drawing()
    assert [step.micro_steps for step in loop.found] == [4, 4, 4]


def test_batches_drawn_in_one_lump_make_one_step(loop: Loop) -> None:
    for _ in range(3):  # as the HF Trainer does
        for _ in range(4):
            loop.steps.drawing()
        for _ in range(4):
            loop.micro(draw=False)
        loop.optimize()
    loop.steps.drawing()
    assert [step.micro_steps for step in loop.found] == [4, 4, 4]


def test_a_loader_one_batch_ahead_makes_no_difference(loop: Loop) -> None:
    loop.steps.drawing()
    for number in range(5):  # as Accelerate's loader does
        loop.micro(draw=number < 4)
        loop.optimize()
    loop.steps.evaluating()
    assert len(loop.found) == 5


def test_forward_and_backward_inside_the_optimizer(loop: Loop) -> None:
    for _ in range(4):  # as Lightning does
        loop.steps.drawing()
        depth = loop.track.enter(layout.CODES["optimizer"])
        loop.micro(draw=False)
        loop.steps.optimizer_done(A, loop.track.leave(depth))
    loop.steps.drawing()
    assert len(loop.found) == 4
    assert all(step.micro_steps == 1 for step in loop.found)


def test_many_optimizer_calls_in_a_row_are_one_step(loop: Loop) -> None:
    for _ in range(4):  # as ZeRO does
        loop.micro(draw=False)
        for _ in range(12):
            loop.optimize()
    loop.steps.forward()
    assert len(loop.found) == 4


def test_two_optimizers_that_take_turns_are_one_step(loop: Loop) -> None:
    for _ in range(5):
        loop.micro()
        loop.optimize(A)
        loop.micro(draw=False)
        loop.optimize(B)
    loop.steps.drawing()
    assert [step.micro_steps for step in loop.found] == [2] * 5


def test_two_optimizers_without_a_loader_are_learned(loop: Loop) -> None:
    for _ in range(10):
        loop.micro(draw=False)
        loop.optimize(A)
        loop.micro(draw=False)
        loop.optimize(B)
    loop.steps.forward()
    assert 10 <= len(loop.found) <= 11, "after the first turn each turn is one step"
    assert all(step.micro_steps == 2 for step in loop.found[2:])


def test_an_optimizer_that_retires_does_not_stop_the_count(loop: Loop) -> None:
    for _ in range(3):
        loop.micro(draw=False)
        loop.optimize(A)
        loop.micro(draw=False)
        loop.optimize(B)
    before = len(loop.found)
    for _ in range(6):
        loop.micro(draw=False)
        loop.optimize(A)
    loop.steps.forward()
    assert len(loop.found) - before in (6, 7)


def test_several_steps_on_one_batch(loop: Loop) -> None:
    loop.steps.drawing()  # as PPO does
    for _ in range(4):
        loop.micro(draw=False)
        loop.optimize()
    loop.steps.drawing()
    assert len(loop.found) == 4


def test_without_a_loader_the_next_forward_ends_the_step(loop: Loop) -> None:
    for _ in range(5):
        loop.micro(draw=False)
        loop.optimize()
    assert len(loop.found) == 4
    loop.steps.forward()
    assert len(loop.found) == 5


def test_a_step_that_the_scaler_left_out_is_a_skipped_step(loop: Loop) -> None:
    for number in range(4):
        loop.micro()
        loop.optimize(skipped=number == 2)
    loop.steps.drawing()
    assert [step.skipped for step in loop.found] == [False, False, True, False]
    assert loop.found[-1].all_skipped == 1


def test_one_optimizer_of_two_left_out_is_no_skipped_step(loop: Loop) -> None:
    loop.micro()
    loop.optimize(A, skipped=True)
    loop.optimize(B)
    loop.steps.drawing()
    assert [step.skipped for step in loop.found] == [False]


def test_inference_has_a_step_for_each_batch(loop: Loop) -> None:
    for _ in range(5):
        loop.steps.drawing()
        loop.steps.forward()
    loop.steps.drawing()
    assert len(loop.found) == 5


def test_without_an_optimizer_that_can_be_seen_the_draws_count(loop: Loop) -> None:
    for _ in range(20):
        loop.micro()
    loop.steps.drawing()
    assert [step.micro_steps for step in loop.found] == [8] + [1] * 12


def test_the_step_after_an_evaluation_begins_after_it(loop: Loop) -> None:
    loop.micro()
    loop.optimize()
    for _ in range(3):
        loop.within("eval", loop.steps.evaluating)
    loop.micro()
    loop.optimize()
    loop.steps.drawing()
    first, second = loop.found
    assert second.ended - second.duration > first.ended
    assert layout.CODES["eval"] not in {code for code, _, _ in second.phases}


def test_the_step_after_a_checkpoint_begins_after_it(loop: Loop) -> None:
    loop.micro()
    loop.optimize()
    loop.within("checkpoint", loop.steps.between)
    loop.steps.between_done()
    loop.micro()
    loop.optimize()
    loop.steps.drawing()
    first, second = loop.found
    assert second.ended - second.duration > first.ended
    assert layout.CODES["checkpoint"] not in {code for code, _, _ in second.phases}


def test_an_evaluation_amid_accumulation_splits_no_step(loop: Loop) -> None:
    loop.micro()
    loop.steps.evaluating()
    loop.micro()
    loop.optimize()
    loop.steps.drawing()
    assert [step.micro_steps for step in loop.found] == [2]


def test_the_last_step_ends_with_the_job(loop: Loop) -> None:
    loop.micro()
    loop.optimize()
    loop.steps.finish()
    assert len(loop.found) == 1


def test_evaluation_ends_the_step_and_makes_none(loop: Loop) -> None:
    for _ in range(3):
        loop.micro()
        loop.optimize()
    for _ in range(7):
        loop.steps.evaluating()
    assert len(loop.found) == 3
    loop.micro()
    loop.optimize()
    loop.steps.evaluating()
    assert len(loop.found) == 4
    assert loop.evaluations == [1, 2]


def test_a_checkpoint_ends_the_step_before_it(loop: Loop) -> None:
    loop.micro()
    loop.optimize()
    loop.steps.between()
    assert len(loop.found) == 1
    loop.steps.between()
    assert len(loop.found) == 1


def test_what_the_job_says_itself_is_all_that_counts(loop: Loop) -> None:
    for number in range(6):
        loop.micro()
        loop.optimize()
        if number % 2:
            loop.steps.explicit(samples=32, tokens=4096, loss=0.5)
    assert [step.number for step in loop.found[-2:]] == [
        loop.steps.count - 1,
        loop.steps.count,
    ]
    assert loop.found[-1].micro_steps == 2
    assert loop.found[-1].samples == 32
    assert loop.found[-1].tokens == 4096
    assert loop.found[-1].loss == 0.5
    assert loop.found[-1].all_samples == 96


def test_functions_are_called_at_each_end() -> None:
    words = memoryview(bytearray(layout.PAGE_SIZE)).cast("Q")
    seen: list[int] = []
    track = make_track(words, 0, layout.CODES["other"], 1)
    steps = Steps(
        track,
        lambda _index, _payload: None,
        [lambda step: seen.append(step.number)],
        lambda _count: None,
    )
    for _ in range(3):
        steps.explicit()
    assert seen == [1, 2, 3]
