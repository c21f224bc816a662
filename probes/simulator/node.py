"""The simulated node: any moment of it can be asked for, and is always the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from msgspec.structs import replace

from ..model.gpu_readings import GpuReading, gpu_source_name
from ..model.kernel_log import KERNEL_LOG
from ..model.probe_readings import ProbeReading
from ..model.process_readings import ProcessReading
from ..model.sample import Sample, SourceStatus
from . import catalogue
from .activity import CHANNELS, Activity
from .gpus import Gpu, driver
from .host import read_cgroup, read_host, read_pressure
from .job import CONTAINER_ID, WORKERS, Job, Placement, cgroup_path, rank_pid
from .links import gpu_paths, placements, read_ports, topology
from .probe import Probes
from .rhythm import RANKS, Rhythm
from .scenario import Scenario, Scene
from .stacks import Stacks
from .timeline import MICROSECONDS, UNIT, Integrals, Spell, Timeline, mean_rates

NODE = "node17"
BOOT_ID = "5b0c4f52-6d0e-4a86-9f39-1c2f0b7e8d11"
UP_SECONDS = 1_040_400.0
"""The node's monotonic clock at elapsed 0."""
JOB_SECONDS = 42_170.0
"""The first step was so long before elapsed 0."""

_SECOND = MICROSECONDS
_RANK, _WORKER = CHANNELS.index("rank_cpu"), CHANNELS.index("worker_cpu")
_DURATIONS = {
    "nvml": 0.0002,
    **{gpu_source_name(index): 0.0009 for index in range(RANKS)},
    "nvml events": 0.0001,
    "processes": 0.0041,
    "cgroups": 0.0004,
    "pressure": 0.0002,
    "limits": 0.0003,
    "mounts": 0.0004,
    "host": 0.0012,
    "inprocess": 0.0003,
    "infiniband": 0.0011,
    KERNEL_LOG: 0.0001,
    "topology": 0.0001,
    "nvml topology": 0.0001,
    "numa": 0.0002,
}


class SimulatedNode:
    """A node whose every sample is a function of the time elapsed alone.

    Args:
        scenario: what happens to it, or its name.
        start_time_seconds: Unix time at elapsed 0.
        interval_seconds: as reported in the samples.
        seed: of the jitter of the steps.

    Raises:
        UnknownScenario: when there is no scenario of that name.
    """

    def __init__(
        self,
        scenario: Scenario | str = "healthy",
        *,
        start_time_seconds: float,
        interval_seconds: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.scenario = catalogue.scenario(scenario) if isinstance(scenario, str) else scenario
        self._start_time = start_time_seconds
        self._interval = interval_seconds
        self._contained = self.scenario.in_container
        container_id = CONTAINER_ID if self._contained else None
        self._cgroup = cgroup_path(container_id)
        age = self.scenario.job_seconds
        self._rhythm = Rhythm(-age, self.scenario.stages, seed)
        self._job = Job(Placement(UP_SECONDS - age - 60.0, self._cgroup, container_id))
        start_times = [self._job.start_time(rank) for rank in range(RANKS)]
        self._probes = Probes(self._rhythm, UP_SECONDS, start_times)
        self._stacks = Stacks(self._rhythm, UP_SECONDS, start_times)
        self._gpus = [
            Gpu(index, rank_pid(index), timeline)
            for index, timeline in enumerate(self._rhythm.ranks)
        ]
        changes = self._rhythm.changes
        self._onset = changes[0] if changes else self.scenario.onset_seconds

    def sample_at(self, elapsed_seconds: float, interval_seconds: float | None = None) -> Sample:
        """The sample of a moment; negative ones are the past before the start.

        Args:
            elapsed_seconds: since the start.
            interval_seconds: as reported in the sample, if not the node's.
        """
        moment = round(elapsed_seconds * MICROSECONDS)
        monotonic = UP_SECONDS + elapsed_seconds
        reached = [timeline.integrals(moment) for timeline in self._rhythm.ranks]
        means = [
            mean_rates(now, timeline.integrals(moment - _SECOND), _SECOND)
            for now, timeline in zip(reached, self._rhythm.ranks, strict=True)
        ]
        spells = [timeline.spell(moment) for timeline in self._rhythm.ranks]
        interval = interval_seconds or self._interval
        sample = Sample(
            time_seconds=self._start_time + elapsed_seconds,
            monotonic_seconds=monotonic,
            # Whoever asks for one moment cannot know how many were asked for before.
            sequence=round((JOB_SECONDS + elapsed_seconds) * 1000),
            node=NODE,
            interval_seconds=interval,
            boot_id=BOOT_ID,
            driver=driver(monotonic),
            gpus=tuple(
                [
                    gpu.read(moment, now, mean, monotonic)
                    for gpu, now, mean in zip(self._gpus, reached, means, strict=True)
                ]
            ),
            processes=self._processes(moment, reached, means, spells, monotonic),
            cgroups=(read_cgroup(self._cgroup, self._contained, _up(moment), monotonic),),
            pressures=(read_pressure(self._cgroup, _up(moment), monotonic),),
            limits=tuple([self._job.limits(rank, monotonic) for rank in range(RANKS)]),
            host=read_host(_up(moment), *_used(reached), self._loads(moment, reached), monotonic),
            probes=tuple(
                [
                    self._probes.read(rank, moment, spell, interval)
                    for rank, spell in enumerate(spells)
                ]
            ),
            sources=_sources(monotonic),
            ports=read_ports(_up(moment), monotonic),
            topology=topology(),
            gpu_paths=gpu_paths(),
            placements=placements(rank_pid, self._job.start_time, moment, monotonic),
        )
        return self._overlaid(sample, elapsed_seconds)

    def with_stacks(self, sample: Sample, elapsed_seconds: float, asked_seconds: float) -> Sample:
        """The sample of a moment with the stacks that there are by then.

        Args:
            sample: of that moment.
            elapsed_seconds: since the start.
            asked_seconds: when somebody began to ask for stacks, on the same clock.
        """
        moment, since = round(elapsed_seconds * MICROSECONDS), round(asked_seconds * MICROSECONDS)
        living = {process.pid for process in sample.processes}
        return replace(sample, stacks=self._stacks.read(moment, since, living))

    def _overlaid(self, sample: Sample, elapsed_seconds: float) -> Sample:
        scene = Scene(
            elapsed_seconds,
            self._onset,
            UP_SECONDS,
            self._start_time,
            self._gpu_at,
            self._probe_at,
        )
        for overlay in self.scenario.overlays:
            sample = overlay(sample, scene)
        return sample

    def _gpu_at(self, index: int, elapsed_seconds: float) -> GpuReading:
        moment = round(elapsed_seconds * MICROSECONDS)
        timeline = self._rhythm.ranks[index]
        now = timeline.integrals(moment)
        mean = mean_rates(now, timeline.integrals(moment - _SECOND), _SECOND)
        return self._gpus[index].read(moment, now, mean, UP_SECONDS + elapsed_seconds)

    def _probe_at(self, rank: int, elapsed_seconds: float) -> ProbeReading:
        moment = round(elapsed_seconds * MICROSECONDS)
        spell = self._rhythm.ranks[rank].spell(moment)
        return self._probes.read(rank, moment, spell, self._interval)

    def _loads(self, moment: int, reached: list[Integrals]) -> tuple[float, float, float]:
        """Cores busy over the last 1, 5 and 15 minutes; all ranks are alike over the longer ones."""
        ranks = self._rhythm.ranks
        last = [_cores(now, one, moment, 60) for now, one in zip(reached, ranks, strict=True)]
        first = (reached[0], ranks[0], moment)
        return sum(last), RANKS * _cores(*first, 300), RANKS * _cores(*first, 900)

    def _processes(
        self,
        moment: int,
        reached: list[Integrals],
        means: list[Activity],
        spells: list[Spell],
        monotonic: float,
    ) -> tuple[ProcessReading, ...]:
        readings = [self._job.launcher(moment, monotonic)]
        for rank, spell in enumerate(spells):
            readings.append(self._job.rank(rank, reached[rank], spell, monotonic))
            readings.extend(
                self._job.workers(rank, reached[rank], means[rank].worker_cpu, moment, monotonic)
            )
        return tuple(readings)


def simulate(
    scenario: Scenario | str,
    *,
    start_time_seconds: float,
    interval_seconds: float,
    seed: int = 0,
    past_seconds: float = 0.0,
) -> Iterator[Sample]:
    """Samples without end and without waiting, ``past_seconds`` before the start first."""
    node = SimulatedNode(
        scenario,
        start_time_seconds=start_time_seconds,
        interval_seconds=interval_seconds,
        seed=seed,
    )
    for number in count():
        yield node.sample_at(number * interval_seconds - past_seconds)


def _up(moment: int) -> int:
    return moment + round(UP_SECONDS) * MICROSECONDS


def _cores(now: Integrals, timeline: Timeline, moment: int, seconds: int) -> float:
    before = moment - seconds * MICROSECONDS
    grown = [now[channel] - timeline.integral(before, channel) for channel in (_RANK, _WORKER)]
    return (grown[0] + WORKERS * grown[1]) / (UNIT * seconds)


def _used(reached: list[Integrals]) -> tuple[float, int]:
    """CPU seconds and bytes read by the whole job."""
    ranks = [Activity._make(integrals) for integrals in reached]
    cpu = sum(rank.rank_cpu + WORKERS * rank.worker_cpu for rank in ranks)
    read = sum(WORKERS * rank.read for rank in ranks)
    return cpu / UNIT, int(read) // UNIT


def _sources(monotonic: float) -> tuple[SourceStatus, ...]:
    return tuple(
        [
            SourceStatus(
                name=name, status="ok", monotonic_seconds=monotonic, duration_seconds=duration
            )
            for name, duration in _DURATIONS.items()
        ]
    )
