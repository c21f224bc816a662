"""How much of a job's time goes to waiting for data, and who loads it: what all rules about input look at."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.process_frames import ProcessFrame
from ..finding import Evidence, compared
from ..loader_workers import loader_workers
from ..progress import NOT_GOING_ON, steps_go_on
from ..rank_rule import NONE_PROBED, probed_ranks
from ..rule import Scene, Threshold

SECONDS = 30.0
RUNS_AHEAD_RATIO = 0.05
"""Of a step: a host that is farther ahead of its GPU than this does not keep it waiting."""
SHARE = Threshold(0.10, "ratio", "TraceML, fournex, MLPerf AU 90 %: 10 % of a step")
_LEAST_LOOKS = 15
_STEADY_RATIO = 0.5
"""Of the share; one of four waits that are alike makes a quarter of it."""
_LEAST_STEPS = 4
"""Of fewer nobody can say whether one of them is unlike the others."""
CAUSED_BY_THESE: tuple[str, ...] = ("HW210", "INP701", "INP707", "RUN436")


class InputWait(msgspec.Struct, frozen=True):
    """Of one job, means over `SECONDS`."""

    job: JobFrame
    share: float
    """Of its time in which the median rank waits for data."""
    idle: float | None
    """Of its time in which the median GPU runs no kernel; ``None``: it has no GPU."""
    workers: tuple[ProcessFrame, ...]
    """Of all its ranks."""
    num_workers: int | None
    """As its DataLoaders were made with; ``None`` where they differ, or nobody tells."""
    seconds: float
    """How much of `SECONDS` was seen."""
    idle_seconds: float
    """Over how long ``idle`` is the mean."""
    steady: float
    """The share without the longest single wait: between two epochs everybody waits once."""

    @property
    def is_once(self) -> bool:
        """One wait among steps that get their batches in time makes all of it."""
        return self.steady < _STEADY_RATIO * self.share

    @property
    def lost(self) -> float:
        """What would be won: the time in which the GPU waits as well, for what it overlaps costs nothing."""
        return self.share if self.idle is None else min(self.share, self.idle)

    def evidence(self, limit: float) -> tuple[Evidence, ...]:
        """What every rule about input shows."""
        found = [compared("data_wait_ratio", self.share, limit, "ratio", mean_seconds=self.seconds)]
        if self.idle is not None:
            found.append(
                Evidence(
                    signal="gpu_idle_ratio",
                    value=self.idle,
                    unit="ratio",
                    mean_seconds=self.idle_seconds,
                )
            )
        return tuple(found)


def input_waits(scene: Scene) -> Mapping[str, InputWait | str]:
    """Job → how it waits for data, or why that is not known."""
    return scene.once(_input_waits)


def _input_waits(scene: Scene) -> dict[str, InputWait | str]:
    return {job.id: _of(job, scene) for job in scene.frame.running}


def _of(job: JobFrame, scene: Scene) -> InputWait | str:
    probed = probed_ranks(job, scene.frame)
    if not probed:
        return NONE_PROBED
    if not steps_go_on(job):
        return NOT_GOING_ON
    series = [scene.history.rank(rank.pid, "phase data") for rank, _ in probed]
    shares = [each.mean(SECONDS) for each in series]
    known = [share for share in shares if share is not None]
    if not known:
        return "no step has ended yet"
    idle = _idle(job, scene)
    if isinstance(idle, str):
        return idle
    loaders = {probe.loader.num_workers for _, probe in probed if probe.loader is not None}
    share = median(known)
    steady = [rest for rank, _ in probed if (rest := _without_longest(rank, scene)) is not None]
    return InputWait(
        job=job,
        idle_seconds=_seen_idle_seconds(job, scene),
        share=share,
        steady=median(steady) if steady else share,
        idle=idle,
        workers=tuple(worker for rank, _ in probed for worker in loader_workers(rank, scene.frame)),
        num_workers=loaders.pop() if len(loaders) == 1 else None,
        seconds=max(each.covered(SECONDS) for each in series),
    )


def _without_longest(rank: RankFrame, scene: Scene) -> float | None:
    """Share of the other steps; ``None`` where there are too few of them."""
    past = scene.frame.rank_history(rank.pid, rank.start_time_seconds)
    since = scene.frame.monotonic_seconds - SECONDS
    steps = [
        step
        for step in (past.steps if past else ())
        if step.monotonic_seconds >= since and step.phases
    ]
    if len(steps) < _LEAST_STEPS:
        return None
    steps.remove(max(steps, key=lambda step: step.phases.get("data", 0.0)))
    return sum(step.phases.get("data", 0.0) for step in steps) / sum(step.seconds for step in steps)


def _idle(job: JobFrame, scene: Scene) -> float | str | None:
    """Of the median GPU; where the driver does not say, whether its host runs ahead does."""
    on = [rank for rank in job.ranks if rank.gpu_index is not None]
    if not on:
        return None
    seconds = _idle_seconds(scene)
    found = [
        scene.history.gpu(rank.gpu_index or 0, "utilization_ratio").mean(seconds) for rank in on
    ]
    busy = [value for value in found if value is not None]
    if busy:
        return 1.0 - median(busy)
    ahead = [share for rank in on if (share := _runs_ahead(rank)) is not None]
    if not ahead:
        return "whether the GPUs wait is not known: no utilization and no run-ahead"
    return 0.0 if median(ahead) > RUNS_AHEAD_RATIO else 1.0


def _idle_seconds(scene: Scene) -> float:
    """Utilization is of the moment before a look: of a few looks it says little, whatever lies between them."""
    return max(SECONDS, _LEAST_LOOKS * scene.frame.interval_seconds)


def _seen_idle_seconds(job: JobFrame, scene: Scene) -> float:
    seconds = _idle_seconds(scene)
    return max(
        (
            scene.history.gpu(rank.gpu_index, "utilization_ratio").covered(seconds)
            for rank in job.ranks
            if rank.gpu_index is not None
        ),
        default=0.0,
    )


def _runs_ahead(rank: RankFrame) -> float | None:
    step = rank.step_p50_seconds
    if rank.run_ahead_seconds is None or not step:
        return None
    return rank.run_ahead_seconds / step


def mean_of_workers(found: InputWait, signal: str, scene: Scene) -> float | None:
    """Median over the loader workers of the mean of one signal."""
    means = [scene.history.process(each.pid, signal).mean(SECONDS) for each in found.workers]
    known = [mean for mean in means if mean is not None]
    return median(known) if known else None
