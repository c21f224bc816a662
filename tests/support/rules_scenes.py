"""A node with one healthy training job, second by second, and ways to make it ill.

`play` sends the samples of a script through the real `derive` and the real engine with all rules.
A script maps the seconds since the start to changes of the healthy sample of that moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from gputop.probes.derive.cache import DeriveCache
from gputop.probes.derive.frame import derive
from gputop.probes.model.frame import Frame
from gputop.probes.model.gpu_readings import (
    GpuProcessReading,
    GpuReading,
    NvlinkReading,
    XidReading,
)
from gputop.probes.model.host_readings import PressureReading
from gputop.probes.model.kernel_log import KernelLogReading
from gputop.probes.model.link_readings import (
    GpuPathsReading,
    ImexReading,
    PlacementReading,
    PortReading,
    TopologyReading,
)
from gputop.probes.model.mount_readings import MountReading
from gputop.probes.model.probe_readings import ProbeReading
from gputop.probes.model.process_readings import LimitsReading, ProcessReading
from gputop.probes.model.rank_readings import (
    CommunicatorReading,
    ExitReading,
    StackReading,
    ThreadsReading,
)
from gputop.probes.model.sample import Sample, SourceStatus
from gputop.probes.model.wait_readings import WaitReading
from gputop.rules.catalogue import RULES, make_rules
from gputop.rules.engine import Engine
from gputop.rules.finding import Evidence, Finding, Judgement

from support.evidence_names import wrong_evidence
from support.scene_readings import (
    BEGAN,
    GIB,
    GPUS,
    LAUNCHER,
    UNIX,
    WORKERS,
    healthy_cgroup,
    healthy_host,
    probe,
    process,
    rank_pid,
    worker_pid,
)
from support.unmeasured import unmeasured

DECLARED = {
    (rule.id, severity) for rule in RULES for severity in rule.severities or (rule.severity,)
}
"""What each rule says that its findings may be."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


@dataclass
class Changes:
    """What is different from the healthy sample."""

    gpus: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    every_gpu: Mapping[str, Any] = field(default_factory=dict[str, Any])
    processes: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    every_worker: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more_processes: Sequence[ProcessReading] = ()
    without_job: bool = False
    without: Sequence[int] = ()
    """Ranks that are not there, nor their workers."""
    gone_gpus: Sequence[int] = ()
    host: Mapping[str, Any] | None = field(default_factory=dict[str, Any])
    cgroup: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pressures: Sequence[PressureReading] = ()
    limits: Sequence[LimitsReading] = ()
    mounts: Sequence[MountReading] = ()
    xids: Sequence[XidReading] = ()
    kernel_log: Sequence[KernelLogReading] = ()
    probes: Sequence[ProbeReading] = ()
    threads: Sequence[ThreadsReading] = ()
    stacks: Sequence[StackReading] = ()
    waits: Sequence[WaitReading] = ()
    exits: Sequence[ExitReading] = ()
    communicators: Sequence[CommunicatorReading] = ()
    sources: Sequence[SourceStatus] = ()
    ports: Sequence[PortReading] = ()
    topology: TopologyReading | None = None
    gpu_paths: GpuPathsReading | None = None
    placements: Sequence[PlacementReading] = ()
    imex: ImexReading | None = None
    boot_id: str = "a"


Script = Callable[[float], Changes]


def always(**changes: Any) -> Script:
    """The same changes at every moment."""
    return lambda _: Changes(**changes)


def healthy(_: float) -> Changes:
    """Nothing is wrong."""
    return Changes()


def with_probes(script: Script) -> Script:
    """The same with a probe in every rank, in the middle of a step."""

    def probed(second: float) -> Changes:
        probes = [probe(rank, second, "forward", 0.1) for rank in range(GPUS)]
        return replace(script(second), probes=probes)

    return probed


def sample(second: float, changes: Changes, interval: float = 1.0) -> Sample:
    """The sample of that second."""
    moment = BEGAN + second
    return Sample(
        time_seconds=UNIX + second,
        monotonic_seconds=moment,
        sequence=round(second / interval),
        interval_seconds=interval,
        node="node17",
        boot_id=changes.boot_id,
        gpus=tuple(
            _changed(_gpu(index, moment, changes), changes.every_gpu, changes.gpus.get(index))
            for index in range(GPUS)
            if index not in changes.gone_gpus
        ),
        processes=tuple(_processes(moment, changes)),
        cgroups=(_changed(healthy_cgroup(moment), changes.cgroup),),
        pressures=tuple(changes.pressures),
        limits=tuple(changes.limits),
        mounts=tuple(changes.mounts),
        host=None if changes.host is None else _changed(healthy_host(moment), changes.host),
        xids=tuple(changes.xids),
        kernel_log=tuple(changes.kernel_log),
        probes=tuple(changes.probes),
        threads=tuple(changes.threads),
        stacks=tuple(changes.stacks),
        waits=tuple(changes.waits),
        exits=tuple(changes.exits),
        communicators=tuple(changes.communicators),
        sources=tuple(changes.sources),
        ports=tuple(changes.ports),
        topology=changes.topology,
        gpu_paths=changes.gpu_paths,
        imex=changes.imex,
        placements=tuple(changes.placements),
    )


@dataclass
class Played:
    """What the rules said, frame by frame."""

    judgements: list[Judgement]
    engine: Engine

    @property
    def last(self) -> Judgement:
        return self.judgements[-1]

    def ids(self) -> set[str]:
        """Of the rules that are active at the end."""
        return {finding.id for finding in self.last.active}

    def ever(self) -> set[str]:
        """Of the rules that were active at any time."""
        return {finding.id for judgement in self.judgements for finding in judgement.active}

    def all(self, rule_id: str) -> list[Finding]:
        """The active findings of a rule at the end."""
        return [finding for finding in self.last.active if finding.id == rule_id]

    def one(self, rule_id: str) -> Finding:
        """The only active finding of that rule at the end."""
        found = self.all(rule_id)
        assert len(found) == 1, (rule_id, [f"{each.id} {each.subject.id}" for each in found])
        return found[0]

    def active_from(self, rule_id: str) -> float | None:
        """The first second at which that rule had an active finding."""
        for judgement in self.judgements:
            if any(finding.id == rule_id for finding in judgement.active):
                return judgement.frame.monotonic_seconds - BEGAN
        return None


def evidence(finding: Finding, signal: str) -> Evidence:
    """The first evidence of that signal."""
    return next(each for each in finding.evidence if each.signal == signal)


def play(
    script: Script,
    seconds: float = 45,
    *,
    interval: float = 1.0,
    engine: Engine | None = None,
    overrides: Mapping[str, Mapping[str, float]] | None = None,
) -> Played:
    """Judge the script from second 0 on; no rule may break on the way."""
    judge = engine or Engine(make_rules(overrides))
    moments = [interval * number for number in range(int(seconds / interval) + 1)]
    judgements = [judge.judge(frame) for frame in frames(script, moments, interval)]
    assert not judge.broken, judge.broken
    reported = {(each.id, each.severity) for judged in judgements for each in judged.findings}
    assert reported <= DECLARED, reported - DECLARED
    found = (finding for judged in judgements for finding in judged.findings)
    wrong = {why for finding in found for why in wrong_evidence(finding.evidence)}
    assert not wrong, wrong
    return Played(judgements, judge)


def frames(script: Script, moments: Iterable[float], interval: float = 1.0) -> Iterable[Frame]:
    """The frames of the script at these seconds."""
    frame: Frame | None = None
    cache = DeriveCache()
    for second in moments:
        with unmeasured():
            frame = derive(frame, sample(second, script(second), interval), cache)
        yield frame


def _changed(struct: _Struct, *changes: Mapping[str, Any] | None) -> _Struct:
    given = {name: value for change in changes for name, value in (change or {}).items()}
    if not given:
        return struct
    moment = given.get("monotonic_seconds", getattr(struct, "monotonic_seconds", None))
    if moment is not None and moment < 0:  # so old: before the start
        given["monotonic_seconds"] = BEGAN + moment
    return msgspec.structs.replace(struct, **given)


def _gpu(index: int, moment: float, changes: Changes) -> GpuReading:
    on = (
        ()
        if changes.without_job or index in changes.without
        else (_on_gpu(rank_pid(index), 70 * GIB),)
    )
    wave = math.sin(moment * 0.9 + index)
    return GpuReading(
        index=index,
        monotonic_seconds=moment,
        uuid=f"GPU-{index}",
        name="NVIDIA H100 80GB HBM3",
        pci_bus_id=f"0000:{index + 16:02x}:00.0",
        utilization_ratio=0.96,
        sm_active_ratio=0.85,
        tensor_active_ratio=0.5,
        memory_used_bytes=70 * GIB if on else 500 << 20,
        memory_total_bytes=80 * GIB,
        memory_reserved_bytes=GIB // 2,
        power_watts=610 + 40 * wave,
        power_limit_watts=700.0,
        power_limit_default_watts=700.0,
        temperature_celsius=62.0,
        temperature_slowdown_celsius=87.0,
        memory_temperature_celsius=70.0,
        fan_count=0,
        memory_temperature_max_celsius=95.0,
        sm_clock_hertz=1755e6,
        sm_clock_max_hertz=1980e6,
        sm_clock_application_hertz=1980e6,
        throttle_reasons=(),
        performance_state=0,
        pcie_generation=5,
        pcie_width=16,
        pcie_generation_max=5,
        pcie_width_max=16,
        pcie_rx_bytes=int(3.3e9 * moment),
        pcie_tx_bytes=int(2.1e9 * moment),
        pcie_replays=0,
        nvlinks=(
            NvlinkReading(
                link=0,
                active=True,
                remote="switch",
                crc_errors=0,
                replay_errors=0,
                recovery_errors=0,
            ),
        ),
        nvlink_rx_bytes=int(180e9 * moment),
        nvlink_tx_bytes=int(178e9 * moment),
        fabric_state="completed",
        fabric_health="healthy",
        ecc_uncorrected=0,
        ecc_corrected=2,
        ecc_uncorrected_lifetime=3,
        remapped_rows_uncorrected=0,
        remap_pending=False,
        remap_failed=False,
        retired_pages_pending=None,
        recovery_action="none",
        mig_mode=False,
        processes=on,
    )


def _on_gpu(pid: int, memory: int | None, sm: float | None = 0.9) -> GpuProcessReading:
    return GpuProcessReading(pid=pid, memory_bytes=memory, sm_ratio=sm)


def _processes(moment: float, changes: Changes) -> Iterable[ProcessReading]:
    if not changes.without_job:
        yield from _job(moment, changes)
    yield from changes.more_processes


def _job(moment: float, changes: Changes) -> Iterable[ProcessReading]:
    command = ("python", "/usr/bin/torchrun", "--nproc-per-node", "8", "train.py")
    launcher = process(LAUNCHER, moment, name="torchrun", command=command)
    yield _changed(launcher, changes.processes.get(LAUNCHER))
    for index in range(GPUS):
        if index in changes.without:
            continue
        pid = rank_pid(index)
        environment = {
            "RANK": str(index),
            "LOCAL_RANK": str(index),
            "WORLD_SIZE": str(GPUS),
            "MASTER_ADDR": "node17",
            "MASTER_PORT": "29500",
        }
        rank = process(
            pid,
            moment,
            parent_pid=LAUNCHER,
            state="R",
            cpu_seconds=1.1 * moment,
            environment=environment,
            start_time_seconds=5001.0,
        )
        yield _changed(rank, changes.processes.get(pid))
        for number in range(WORKERS):
            worker = process(
                worker_pid(index, number),
                moment,
                parent_pid=pid,
                name="pt_data_worker",
                environment=environment,
                start_time_seconds=5002.0,
            )
            own = changes.processes.get(worker.pid)
            yield _changed(worker, changes.every_worker, own)
