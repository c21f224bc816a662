"""The steps of all jobs of one name within a span: each counted once, whatever the samples repeat."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from ....probes.derive.step_statistics import percentile
from ....probes.model.frame import Frame, ProbeFrame
from ....probes.model.job_frames import JobFrame, RankFrame
from ....probes.model.probe_readings import StepReading
from ....probes.model.reading import Key, key_of
from .side import JobSide, Number

_VERSIONS = ("python_version", "torch_version", "cuda_version", "nccl_version")
_NO_STEP = "no step ended"


@dataclass
class _RankTimes:
    """Of one process."""

    first: StepReading | None = None
    last: StepReading | None = None
    left_out_before: int = 0
    left_out: int = 0


@dataclass
class JobTimes:
    """Feed it the jobs of one name, frame by frame."""

    name: str
    ids: set[str] = field(default_factory=set[str])
    ranks: int = 0
    world_size: int | None = None
    versions: dict[str, str] = field(default_factory=dict[str, str])
    _of: dict[Key, _RankTimes] = field(default_factory=dict[Key, _RankTimes])
    _seconds: array[float] = field(default_factory=lambda: array("d"))
    _counted: dict[str, float] = field(default_factory=dict[str, float])
    _counted_seconds: dict[str, float] = field(default_factory=dict[str, float])
    _why: str = ""

    def add(self, job: JobFrame, frame: Frame, begin_seconds: float) -> None:
        """Take up what ended since the frame before.

        Args:
            job: of this name.
            frame: in which it is.
            begin_seconds: monotonic time at which the span begins: steps that ended before are not in it.
        """
        self.ids.add(job.id)
        self.ranks = max(self.ranks, len(job.ranks))
        self.world_size = job.world_size or self.world_size
        for rank in job.ranks:
            probe = frame.probe(rank.pid, rank.start_time_seconds)
            past = frame.rank_history(rank.pid, rank.start_time_seconds)
            if probe is None or past is None:
                self._why = rank.missing.get("phase") or rank.missing.get("step") or self._why
                continue
            self._add_probe(rank, probe)
            times = self._of[key_of(rank)]
            for step in past.steps:
                known = times.last.number if times.last else 0
                if step.number > known and step.monotonic_seconds > begin_seconds:
                    self._add_step(times, step)

    def side(self, ledger: dict[str, float]) -> JobSide:
        """All of it.

        Args:
            ledger: shares of the entries in the time of these jobs.
        """
        left_out = sum(each.left_out for each in self._of.values())
        known = sorted(self._seconds)
        told = bool(known) and not left_out
        return JobSide(
            name=self.name,
            job_count=len(self.ids),
            rank_count=self.ranks,
            world_size=self.world_size,
            steps=len(known) + left_out,
            steps_left_out=left_out,
            step_p50_duration_seconds=percentile(known, 0.5) if told else None,
            step_p99_duration_seconds=percentile(known, 0.99) if told else None,
            step_mean_duration_seconds=self._mean(),
            samples_per_second=self._rate("samples"),
            tokens_per_second=self._rate("tokens"),
            ledger_ratios=ledger,
            no_steps_because="" if known else (_NO_STEP if self._of else self._why or _NO_STEP),
            **self.versions,
        )

    def _add_probe(self, rank: RankFrame, probe: ProbeFrame) -> None:
        times = self._of.get(key_of(rank))
        if times is None:
            left_out = probe.steps_left_out or 0
            times = self._of[key_of(rank)] = _RankTimes(left_out_before=left_out)
        times.left_out = max(0, (probe.steps_left_out or 0) - times.left_out_before)
        for name in _VERSIONS:
            value: str | None = getattr(probe, name)
            if value:
                self.versions[name] = value

    def _add_step(self, times: _RankTimes, step: StepReading) -> None:
        times.first = times.first or step
        times.last = step
        self._seconds.append(step.seconds)
        for name in ("samples", "tokens"):
            count: float | None = getattr(step, name)
            if count is not None:
                self._counted[name] = self._counted.get(name, 0.0) + count
                self._counted_seconds[name] = self._counted_seconds.get(name, 0.0) + step.seconds

    def _mean(self) -> Number:
        """By the numbers of the first and the last step, so that those that nobody told of count too."""
        passed, count = 0.0, 0
        for each in self._of.values():
            if each.first is not None and each.last is not None:
                passed += each.last.monotonic_seconds - each.first.monotonic_seconds
                count += each.last.number - each.first.number
        return passed / count if count else None

    def _rate(self, name: str) -> Number:
        seconds = self._counted_seconds.get(name)
        return self._counted[name] / seconds if seconds else None
