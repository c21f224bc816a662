"""A node on which nothing stays: processes, ranks, control groups and pages that come and go for ever.

The simulated node's own job lives on beside them. Time is that of the samples alone, so a day passes as fast as
it can be judged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec.structs import replace

from gputop.probes.model.gpu_readings import GpuProcessReading, GpuReading, XidReading
from gputop.probes.model.host_readings import (
    CgroupReading,
    HostReading,
    NetworkReading,
    PressureReading,
)
from gputop.probes.model.kernel_log import KernelLogReading
from gputop.probes.model.link_readings import PlacementReading
from gputop.probes.model.probe_readings import AllocatorReading, ProbeReading, StepReading
from gputop.probes.model.process_readings import LimitsReading, ProcessReading
from gputop.probes.model.rank_readings import (
    ExitReading,
    StackFrameReading,
    StackReading,
    StackThreadReading,
    ThreadReading,
    ThreadsReading,
)
from gputop.probes.model.sample import Sample
from gputop.probes.simulator.node import UP_SECONDS, SimulatedNode
from gputop.probes.wire.command import Command

UNIX = 1_793_455_651.0
_FIRST_PID = 100_000
_MOST_EXITS = 64
_MOST_EVENTS = 32
_GPUS = 8


class ChurnFeed:
    """Samples of such a node, as fast as they are taken.

    Args:
        seconds: of simulated time, then it ends.
        interval_seconds: between samples.
        visits_per_second: so many new processes on GPUs come each second.
    """

    simulated = True
    past_samples = 0
    title = "churn"
    pids: tuple[int, ...] = ()

    def __init__(self, seconds: float, interval_seconds: float, visits_per_second: float) -> None:
        self._count = int(seconds / interval_seconds)
        self._interval = interval_seconds
        self._visits = visits_per_second
        self._node = SimulatedNode(
            "healthy", start_time_seconds=UNIX, interval_seconds=interval_seconds
        )
        self._there: dict[int, float] = {}
        """Number of a visit → when it came."""
        self._dead: deque[ProbeReading] = deque(maxlen=16)
        self._exits: deque[ExitReading] = deque(maxlen=_MOST_EXITS)
        self._xids: deque[XidReading] = deque(maxlen=_MOST_EVENTS)
        self._events: deque[KernelLogReading] = deque(maxlen=_MOST_EVENTS)
        self.visits = 0
        """Processes that came so far."""
        self.seconds = 0.0
        """Of simulated time that have passed."""
        self.closed = False

    def messages(self) -> Iterator[Sample]:
        for number in range(self._count):
            if self.closed:
                return
            self.seconds = number * self._interval
            yield self._visited(self._node.sample_at(self.seconds))

    def send(self, command: Command) -> None:
        """Nobody is asked."""

    def close(self) -> str:
        self.closed = True
        return ""

    def _visited(self, sample: Sample) -> Sample:
        """The node's sample with everybody who is there for a while."""
        now = sample.monotonic_seconds
        self._come_and_go(now)
        living = [(visit, _FIRST_PID + visit, came) for visit, came in self._there.items()]
        probes = [_probe(visit, pid, came, now) for visit, pid, came in living if visit % 2]
        return replace(
            sample,
            gpus=tuple(
                _with_visits(gpu, [pid for v, pid, _ in living if v % _GPUS == gpu.index])
                for gpu in sample.gpus
            ),
            processes=(
                *sample.processes,
                *(_process(v, pid, came, now) for v, pid, came in living),
            ),
            limits=(*sample.limits, *(_limits(pid, came, now) for _, pid, came in living)),
            threads=tuple(_threads(pid, came, now) for _, pid, came in living),
            placements=(
                *sample.placements,
                *(_placement(pid, came, now) for _, pid, came in living),
            ),
            stacks=tuple(_stack(v, pid, came, now) for v, pid, came in living if v % 4 == 0),
            cgroups=(*sample.cgroups, *(_cgroup(v, now) for v, _, _ in living)),
            pressures=(*sample.pressures, *(_pressure(v, now) for v, _, _ in living)),
            probes=(*sample.probes, *probes, *self._dead),
            exits=tuple(self._exits),
            xids=tuple(self._xids),
            kernel_log=tuple(self._events),
            host=None if sample.host is None else _host(sample.host, self.visits),
        )

    def _come_and_go(self, now: float) -> None:
        for visit, came in list(self._there.items()):
            # One in sixteen stays for long, and stands still.
            if now - came > (40.0 if visit % 16 == 0 else 2.0 + visit % 5):
                del self._there[visit]
                self._end(visit, _FIRST_PID + visit, came, now)
        while self.visits < (now - UP_SECONDS) * self._visits:
            self._there[self.visits] = now
            self.visits += 1

    def _end(self, visit: int, pid: int, came: float, now: float) -> None:
        killed = visit % 3 == 0
        self._exits.append(
            ExitReading(
                pid=pid,
                start_time_seconds=came,
                monotonic_seconds=now,
                signal=9 if killed else None,
                code=None if killed else visit % 2,
            )
        )
        if visit % 2:
            self._dead.append(
                replace(_probe(visit, pid, came, now), ended_monotonic_seconds=now, socket=None)
            )
        if visit % 50 == 0:
            unix = now - UP_SECONDS + UNIX
            self._xids.append(
                XidReading(time_seconds=unix, code=13, gpu_index=visit % _GPUS, pid=pid)
            )
            self._events.append(
                KernelLogReading(
                    kind="oom kill",
                    time_seconds=unix,
                    first_time_seconds=unix,
                    text=f"Killed process {pid}",
                    pid=pid,
                )
            )


def _with_visits(gpu: GpuReading, pids: list[int]) -> GpuReading:
    more = [GpuProcessReading(pid=pid, memory_bytes=1 << 30) for pid in pids]
    return replace(gpu, processes=(*(gpu.processes or ()), *more))


def _process(visit: int, pid: int, came: float, now: float) -> ProcessReading:
    stands_still = visit % 16 == 0
    return ProcessReading(
        monotonic_seconds=now,
        pid=pid,
        start_time_seconds=came,
        parent_pid=1,
        user=f"user{visit % 1000}",
        name="python",
        command=("python", f"/data/run{visit}/train.py", "--seed", str(visit)),
        state="D" if stands_still else "R",
        wait_channel=f"io_schedule_{visit}" if stands_still else None,
        threads=4,
        cpu_seconds=0.0 if stands_still else now - came,
        rss_bytes=1 << 30,
        voluntary_switches=int(now * 10),
        cgroup=_path(visit),
        container_id=f"{visit:064x}",
        environment={"RANK": "0", "WORLD_SIZE": "1", "JOB": str(visit)},
        working_directory=f"/data/run{visit}",
    )


def _probe(visit: int, pid: int, came: float, now: float) -> ProbeReading:
    own = f"phase{visit}"
    steps = max(0, int(now - came))
    return ProbeReading(
        monotonic_seconds=now,
        pid=pid,
        start_time_seconds=came,
        phase=own,
        phase_monotonic_seconds=came,
        step=steps,
        step_seconds=1.0,
        step_monotonic_seconds=came + steps,
        phase_seconds={own: 0.7 * (now - came), "forward": 0.3 * (now - came)},
        steps=tuple(
            StepReading(
                number=number, monotonic_seconds=came + number, seconds=1.0, phases={own: 0.7}
            )
            for number in range(1, steps + 1)[-4:]
        ),
        allocator=AllocatorReading(allocated_bytes=1 << 30, reserved_bytes=2 << 30),
        rank=0,
        world_size=1,
        job_name=f"run{visit}",
        socket=f"/run/{visit}.sock",
    )


def _limits(pid: int, came: float, now: float) -> LimitsReading:
    return LimitsReading(
        monotonic_seconds=now,
        pid=pid,
        start_time_seconds=came,
        open_files=100,
        open_files_limit=1024,
        shm_total_bytes=64 << 20,
        shm_free_bytes=32 << 20,
    )


def _threads(pid: int, came: float, now: float) -> ThreadsReading:
    main = ThreadReading(tid=pid, name="python", state="R", cpu_seconds=now - came)
    return ThreadsReading(
        monotonic_seconds=now, pid=pid, start_time_seconds=came, main=main, count=1
    )


def _placement(pid: int, came: float, now: float) -> PlacementReading:
    return PlacementReading(
        monotonic_seconds=now, pid=pid, start_time_seconds=came, cpus="0-7", running_node=0
    )


def _stack(visit: int, pid: int, came: float, now: float) -> StackReading:
    frames = (
        StackFrameReading(name=f"load{visit}", file=f"/data/run{visit}/train.py", line=visit),
    )
    return StackReading(
        monotonic_seconds=now,
        pid=pid,
        start_time_seconds=came,
        threads=(StackThreadReading(frames=frames, name="MainThread", main=True),),
        main_stacks=(frames,),
        taken=1,
    )


def _cgroup(visit: int, now: float) -> CgroupReading:
    return CgroupReading(
        monotonic_seconds=now,
        path=_path(visit),
        version=2,
        cpu_quota_cores=4.0,
        cpu_periods=int(now * 10),
        cpu_throttled_periods=int(now * 5),
        cpu_throttled_seconds=now / 2,
        memory_used_bytes=1 << 30,
        memory_limit_bytes=1 << 31,
    )


def _pressure(visit: int, now: float) -> PressureReading:
    return PressureReading(monotonic_seconds=now, path=_path(visit))


def _host(host: HostReading, visits: int) -> HostReading:
    """An interface that is named anew with each hundred visits."""
    link = NetworkReading(name=f"eth{visits // 100}", rx_bytes=visits, tx_bytes=visits)
    return replace(host, networks=(*(host.networks or ()), link))


def _path(visit: int) -> str:
    return f"/system.slice/docker-{visit:064x}.scope"
