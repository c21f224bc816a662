"""Jobs whose steps differ in length: from step to step, or from rank to rank."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gputop.probes.model.probe_readings import ProbeReading, StepReading

from support.rules_scenes import Changes, Script
from support.scene_readings import BEGAN, GPUS, probe

Phases = Mapping[str, float]
"""Seconds of a step per phase."""
STEP: Phases = {"data": 0.02, "forward": 0.3, "backward": 0.6, "comm": 0.04, "optimizer": 0.04}
TOLD = 8
"""Steps that a page holds."""


def ends_steps(
    phases: Callable[[int, int], Phases],
    *,
    first: int = 100,
    fields: Callable[[int, int], dict[str, Any]] = lambda _rank, _number: {},
    page: Callable[[int], dict[str, Any]] = lambda _rank: {},
    ranks: int = GPUS,
) -> Script:
    """All ranks end a step together, once the slowest is through; the others wait in comm.

    Args:
        phases: rank and number of the step → seconds per phase, without that waiting.
        first: number of the first step.
        fields: rank and number → other fields of the step.
        page: rank → other fields of its page.
        ranks: how many there are.
    """
    job = _Job(phases, first, fields, ranks)

    def script(second: float) -> Changes:
        done = job.done(second)
        pages = [job.page(rank, second, done, page(rank)) for rank in range(ranks)]
        return Changes(probes=pages, without=range(ranks, GPUS))

    return script


class _Job:
    """The steps that were made up so far."""

    def __init__(
        self,
        phases: Callable[[int, int], Phases],
        first: int,
        fields: Callable[[int, int], dict[str, Any]],
        ranks: int,
    ) -> None:
        self._phases, self._first, self._fields = phases, first, fields
        self._ends: list[float] = [0.0]
        self._steps: list[list[StepReading]] = [[] for _ in range(ranks)]
        self._spent: list[list[dict[str, float]]] = [[{}] for _ in range(ranks)]
        """Of each rank, where its counters stood at the beginning of each step."""

    def done(self, second: float) -> int:
        """How many steps have ended by then; the one in progress is made up too."""
        while self._ends[-1] <= second:
            self._grow()
        return bisect_right(self._ends, second) - 1

    def _grow(self) -> None:
        number = self._first + len(self._ends) - 1
        rows = [self._phases(rank, number) for rank in range(len(self._steps))]
        seconds = max(sum(row.values()) for row in rows)
        self._ends.append(self._ends[-1] + seconds)
        for rank, row in enumerate(rows):
            waits = row.get("comm", 0.0) + seconds - sum(row.values())
            step = StepReading(
                number=number,
                monotonic_seconds=BEGAN + self._ends[-1],
                seconds=seconds,
                phases={**row, "comm": waits},
                **self._fields(rank, number),
            )
            self._steps[rank].append(step)
            before = self._spent[rank][-1]
            both = before.keys() | step.phases.keys()
            self._spent[rank].append(
                {name: before.get(name, 0.0) + step.phases.get(name, 0.0) for name in both}
            )

    def page(self, rank: int, second: float, done: int, more: dict[str, Any]) -> ProbeReading:
        steps = self._steps[rank]
        newest = tuple(steps[max(0, done - TOLD) : done])
        spent, left = dict(self._spent[rank][done]), second - self._ends[done]
        phase, age = "forward", left
        for name, seconds in steps[done].phases.items():
            if left > 0 or not spent:
                phase, age = name, max(0.0, left)
                spent[name] = spent.get(name, 0.0) + min(seconds, max(0.0, left))
            left -= seconds
        return msgspec.structs.replace(
            probe(rank, second, phase, age),
            rank=rank,
            step=newest[-1].number if newest else None,
            step_seconds=newest[-1].seconds if newest else None,
            step_monotonic_seconds=BEGAN + self._ends[done],
            steps=newest,
            phase_seconds=spent,
            **more,
        )


def longer(phase: str, seconds: float) -> Phases:
    """A usual step that takes so much longer in a phase."""
    return {**STEP, phase: STEP.get(phase, 0.0) + seconds}
