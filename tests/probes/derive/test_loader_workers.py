"""What is remembered of loader workers stays small, and is the same object while nothing happens."""

from __future__ import annotations

from gputop.probes.model.worker_history import WorkerHistory

from support.rules_scenes import (
    Changes,
    Script,
    frames,
    healthy,
)
from support.scene_readings import BEGAN, process, rank_pid


def of_rank_3(script: Script, seconds: int, step: float = 1.0) -> list[WorkerHistory]:
    found: list[WorkerHistory] = []
    for frame in frames(script, [step * number for number in range(seconds + 1)]):
        history = frame.worker_history(rank_pid(3), 5001.0)
        assert history is not None
        found.append(history)
    return found


def worker(second: float, pid: int, began: float) -> Changes:
    one = process(
        pid,
        BEGAN + second,
        parent_pid=rank_pid(3),
        name="pt_data_worker",
        start_time_seconds=began,
    )
    return Changes(more_processes=[one])


def test_while_nothing_happens_it_is_the_same_object() -> None:
    found = of_rank_3(healthy, 5)
    assert all(each is found[0] for each in found)
    assert len(found[0].living) == 1


def test_who_comes_beside_others_took_no_place() -> None:
    found = of_rank_3(lambda second: worker(second, 5000, 6000.0) if second >= 3 else Changes(), 20)
    assert len(found[-1].living) == 2 and found[-1].replaced == ()
    assert found[-1].came == () and found[-1].gone == ()


def test_however_many_die_few_are_remembered() -> None:
    """A second worker of the rank's that is another one every other second, for half an hour."""

    def dies(second: float) -> Changes:
        return worker(second, 5000 + int(second // 2), 5002.5)

    last = of_rank_3(dies, 900, 2.0)[-1]
    assert len(last.replaced) <= 64 and len(last.gone) <= 32 and len(last.came) <= 5
