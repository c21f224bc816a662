"""Work that is unevenly shared out in each step, to another rank each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.probe_readings import StepReading
from ...probes.model.vocabulary import LONG_PHASES
from ..rule import Scene
from ..stages import alike
from ..waits.ranks import WAITING_PHASES

STEPS = 40
_LEAST_STEPS = 12
_LEAST_RANKS = 3
"""So many are the last one at some time, or all of two."""
_SAME_RANK_RATIO = 0.6
"""gpuprof: late in so many steps, it is one rank that is late and no burden that goes round."""
_IN_COLLECTIVES = frozenset({"comm"})


class Imbalance(msgspec.Struct, frozen=True):
    """Medians over steps."""

    delay: float
    """How much longer the last rank works than the median one, as a share of the step."""
    lost: float
    """Share of the step that a rank waits for the last one, in the mean over ranks."""
    ranks: int
    """How many were the last one at some time."""
    most_often: float
    """Share of the steps in which the one that is last most often is last."""
    tokens: float | None
    """Of the last rank, over those of the median one; ``None`` where steps do not tell them."""


def imbalances(scene: Scene) -> Mapping[str, Imbalance]:
    """Id of a job → the burden that goes round in it, where one does."""
    found: dict[str, Imbalance] = {}
    for job in scene.frame.running:
        each = [_among(ranks, scene) for ranks in _compared(job, scene)]
        known = [imbalance for imbalance in each if imbalance is not None]
        if known:
            found[job.id] = max(known, key=lambda imbalance: imbalance.delay)
    return found


def _compared(job: JobFrame, scene: Scene) -> Sequence[Sequence[RankFrame]]:
    return [ranks for ranks in alike(job, scene.frame) if len(ranks) > 1]


def _among(ranks: Sequence[RankFrame], scene: Scene) -> Imbalance | None:
    by_rank = [_steps(rank, scene) for rank in ranks]
    first, *others = map(set, by_rank)
    common = first.intersection(*others)
    rows = [[steps[number] for steps in by_rank] for number in sorted(common)[-STEPS:]]
    if len(rows) < _LEAST_STEPS:
        return None
    # DDP's collectives run inside the backward, and so does the waiting: then it is no work.
    seen, hidden = (_measured(rows, waiting) for waiting in (_IN_COLLECTIVES, WAITING_PHASES))
    found = seen if seen.delay >= hidden.delay / 2 else hidden
    goes_round = found.ranks >= min(_LEAST_RANKS, len(ranks))
    return found if goes_round and found.most_often < _SAME_RANK_RATIO else None


def _steps(rank: RankFrame, scene: Scene) -> dict[int, StepReading]:
    past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
    return {
        step.number: step
        for step in (past.steps[-2 * STEPS :] if past else ())
        # A step that saves, compiles or evaluates is another kind of step.
        if step.seconds > 0 and not LONG_PHASES & step.phases.keys()
    }


def _measured(rows: Sequence[Sequence[StepReading]], waiting: frozenset[str]) -> Imbalance:
    delays: list[float] = []
    lost: list[float] = []
    last: list[int] = []
    tokens: list[float] = []
    for steps in rows:
        work = [_work(step, waiting) for step in steps]
        whole = max(step.seconds for step in steps)
        number = max(range(len(work)), key=work.__getitem__)
        delays.append((work[number] - median(work)) / whole)
        lost.append((work[number] - fmean(work)) / whole)
        last.append(number)
        counts = [step.tokens for step in steps if step.tokens]
        if len(counts) == len(steps):
            tokens.append((steps[number].tokens or 0.0) / median(counts))
    often = Counter(last)
    return Imbalance(
        delay=median(delays),
        lost=fmean(lost),
        ranks=len(often),
        most_often=often.most_common(1)[0][1] / len(rows),
        tokens=median(tokens) if tokens else None,
    )


def _work(step: StepReading, waiting: frozenset[str]) -> float:
    return sum(seconds for phase, seconds in step.phases.items() if phase not in waiting)
