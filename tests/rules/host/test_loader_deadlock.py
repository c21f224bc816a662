"""A loader whose workers all sleep while its rank waits for them."""

from __future__ import annotations

from support.rules_scenes import play
from support.scene_readings import worker_pid
from support.stall_scenes import SLEEPING, VICTIM, frames, reported, stall

QUEUE = frames("torch/utils/data/dataloader.py:_try_get_data:1291", "train.py:main:111")
ASLEEP_WORKERS = {"cpu_seconds": 5000.0, "state": "S", "wait_channel": "futex_do_wait"}


def test_a_loader_whose_workers_sleep_is_deadlocked() -> None:
    polling = {"wait_channel": "poll_schedule_timeout"}
    assert reported(play(stall(polling, QUEUE, workers=ASLEEP_WORKERS), 25)) == {"HST115": VICTIM}


def test_a_loader_whose_workers_run_is_slow_and_not_deadlocked() -> None:
    polling = {"wait_channel": "poll_schedule_timeout"}
    assert reported(play(stall(polling, QUEUE), 25)) == {"RUN406": VICTIM}


def test_without_stacks_the_loader_is_known_by_its_workers() -> None:
    polling = {"wait_channel": "poll_schedule_timeout"}
    assert reported(play(stall(polling, workers=ASLEEP_WORKERS), 25)) == {"HST115": VICTIM}


def test_workers_of_the_scene_are_those_of_the_rank() -> None:
    played = play(stall(SLEEPING), 10)
    (job,) = played.last.frame.jobs
    assert job.ranks[VICTIM].workers == (worker_pid(VICTIM),)
