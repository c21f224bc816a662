"""What the probes inside the simulated ranks tell: the steps of the rhythm, as the page shows them."""

from __future__ import annotations

from math import exp, sin
from typing import Any

import msgspec

from ..model.probe_readings import (
    AllocatorReading,
    CollectiveReading,
    LoaderReading,
    ProbeReading,
    SegmentReading,
    StepReading,
    ThreadPhaseReading,
)
from .gpus import GIB, gpu_uuid
from .job import WORKERS, chance, rank_pid, worker_pids
from .rhythm import RANKS, Rhythm, StepPlan
from .timeline import MICROSECONDS, PHASES, Spell, Stretch

SAMPLES_PER_STEP = 32
TOKENS_PER_SAMPLE = 768
SEGMENTS = 64
"""As many as the page of a real probe holds."""

_EVENTS_DONE = 300_000
"""Microseconds after a step's end at which its GPU events have been read."""
_KEPT = 4096
_ON_GPU = {
    "h2d": 0.92,
    "forward": 0.98,
    "backward": 0.99,
    "comm": 1.0,
    "optimizer": 0.95,
    "eval": 0.97,
}
"""Share of the host's time in a phase for which the GPU works on it."""
_STARVED_RATIO = 0.1
"""From this share of ``data`` on, the GPU has caught up with the host when the step ends."""
_HOLLOW_SM_ACTIVE = 0.2
"""Below this in ``backward``, launching takes longer than computing."""
_RUN_AHEAD_SECONDS = 0.14
_SAVES_EVERY_SECONDS, _SAVE_SECONDS = 300.0, 18.0
_GC_EVERY_STEPS, _GC_SECONDS = 40, 0.031
_QUEUE = 2 * WORKERS
_MAIN_GROUP = "default"

_HOOKS = {
    "data": "on",
    "h2d": "on",
    "forward": "on",
    "backward": "on",
    "optimizer": "on",
    "comm": "on",
    "checkpoint": "on",
    "gc": "on",
    "gpu events": "on",
    "compile": "torch.compile is not used",
    "flight recorder": "TORCH_NCCL_TRACE_BUFFER_SIZE is 0",
}


class Probes:
    """The probes of all ranks, at any moment.

    Args:
        rhythm: the steps.
        zero_seconds: the node's monotonic time of moment 0.
        start_times: of the ranks' processes, in seconds since boot.
    """

    def __init__(self, rhythm: Rhythm, zero_seconds: float, start_times: list[float]) -> None:
        self._rhythm = rhythm
        self._zero = zero_seconds
        self._segments: dict[tuple[int, int], tuple[SegmentReading, ...]] = {}
        self._steps: dict[tuple[int, int, bool], StepReading] = {}
        self._templates = [_template(rank, started) for rank, started in enumerate(start_times)]

    def read(self, rank: int, moment: int, spell: Spell, interval_seconds: float) -> ProbeReading:
        """The page of a rank at a moment in microseconds.

        Args:
            rank: its number.
            moment: it.
            spell: the phase at it.
            interval_seconds: since the sample before: the steps of that time are reported.
        """
        number, seconds = self._rhythm.step(moment)
        plan = self._rhythm.plan(number)
        now = self._zero + moment / MICROSECONDS
        return msgspec.structs.replace(
            self._templates[rank],
            monotonic_seconds=now,
            phase=spell.phase,
            phase_monotonic_seconds=self._zero + spell.began / MICROSECONDS,
            step=number,
            step_seconds=seconds,
            step_monotonic_seconds=self._zero + plan.start / MICROSECONDS,
            samples=float(number * SAMPLES_PER_STEP),
            tokens=float(number * SAMPLES_PER_STEP * TOKENS_PER_SAMPLE),
            phase_seconds={
                phase: spent / MICROSECONDS
                for phase, spent in zip(PHASES, spell.phase_integrals, strict=True)
                if spent
            },
            steps=self._newest_steps(rank, moment, number, interval_seconds),
            segments=self._newest_segments(rank, moment, number),
            threads=_threads(rank, now),
            allocator=_allocator(rank, number),
            collectives=(self._collective(spell, number),),
            loader=_loader(rank, spell, plan),
            gc_pauses=number // _GC_EVERY_STEPS,
            gc_pause_seconds=number // _GC_EVERY_STEPS * _GC_SECONDS,
            overhead_ratio=0.0011 + 0.0002 * chance(rank, number),
        )

    def _newest_steps(
        self, rank: int, moment: int, number: int, interval_seconds: float
    ) -> tuple[StepReading, ...]:
        since = moment - round((1.5 * interval_seconds + 1.0) * MICROSECONDS)
        found: list[StepReading] = []
        for each in range(number - 1, -1, -1):
            plan = self._rhythm.plan(each)
            if plan.end < since:
                break
            found.append(self._step(rank, plan, moment - plan.end >= _EVENTS_DONE))
        return tuple(reversed(found))

    def _step(self, rank: int, plan: StepPlan, events_done: bool) -> StepReading:
        key = (rank, plan.number, events_done)
        if key not in self._steps:
            if len(self._steps) >= _KEPT:
                self._steps.clear()
            self._steps[key] = _step_reading(rank, plan, self._zero, events_done)
        return self._steps[key]

    def _newest_segments(self, rank: int, moment: int, number: int) -> tuple[SegmentReading, ...]:
        now = self._zero + moment / MICROSECONDS
        found = [
            segment
            for segment in self._segments_of(rank, number)
            if segment.monotonic_seconds <= now
        ]
        for each in range(number - 1, -1, -1):
            if len(found) >= SEGMENTS:
                break
            found = [*self._segments_of(rank, each), *found]
        return tuple(found[-SEGMENTS:])

    def _segments_of(self, rank: int, number: int) -> tuple[SegmentReading, ...]:
        key = (rank, number)
        if key not in self._segments:
            if len(self._segments) >= _KEPT:
                self._segments.clear()
            self._segments[key] = _segments(rank, self._rhythm.plan(number), self._zero)
        return self._segments[key]

    def _collective(self, spell: Spell, number: int) -> CollectiveReading:
        """Each step has one all-reduce, after which nothing but the optimizer comes."""
        launched = spell.phase in ("comm", "optimizer", "other")
        began = self._zero + spell.began / MICROSECONDS
        return CollectiveReading(
            group=_MAIN_GROUP,
            sequence=number + launched,
            operation="all_reduce",
            ranks=tuple(range(RANKS)),
            in_flight_monotonic_seconds=began if spell.phase == "comm" else None,
        )


def _template(rank: int, start_time_seconds: float) -> ProbeReading:
    """Replacing what moves in a ready reading is faster than making one."""
    return ProbeReading(
        monotonic_seconds=0.0,
        pid=rank_pid(rank),
        start_time_seconds=start_time_seconds,
        recompiles=0,
        skipped_steps=2,
        rank=rank,
        local_rank=rank,
        world_size=RANKS,
        job_name="train.py",
        device_uuid=gpu_uuid(rank),
        precision="bf16",
        python_version="3.12.7",
        torch_version="2.9.1+cu130",
        cuda_version="13.0",
        nccl_version="2.28.3",
        instruments=_HOOKS,
        socket=f"/run/user/1017/gputop/{rank_pid(rank)}.sock",
    )


def _step_reading(rank: int, plan: StepPlan, zero: float, events_done: bool) -> StepReading:
    phases: dict[str, int] = {}
    for stretch in plan.ranks[rank]:
        phases[stretch.phase] = phases.get(stretch.phase, 0) + stretch.duration
    host = {phase: spent / MICROSECONDS for phase, spent in phases.items()}
    on_gpu: dict[str, Any] = {}
    if events_done:
        on_gpu["gpu_phases"] = {
            phase: seconds * _ON_GPU[phase] for phase, seconds in host.items() if phase in _ON_GPU
        }
        on_gpu["run_ahead_seconds"] = _run_ahead(rank, plan)
    return StepReading(
        number=plan.number + 1,
        monotonic_seconds=zero + plan.end / MICROSECONDS,
        seconds=(plan.end - plan.start) / MICROSECONDS,
        phases=host,
        samples=float(SAMPLES_PER_STEP),
        tokens=float(SAMPLES_PER_STEP * TOKENS_PER_SAMPLE),
        loss=_loss(rank, plan.number),
        **on_gpu,
    )


def _segments(rank: int, plan: StepPlan, zero: float) -> tuple[SegmentReading, ...]:
    segments: list[SegmentReading] = []
    began = plan.start
    for stretch in plan.ranks[rank]:
        if not segments or segments[-1].phase != stretch.phase:
            moment = zero + began / MICROSECONDS
            segments.append(SegmentReading(stretch.phase, moment, plan.number + 1))
        began += stretch.duration
    return tuple(segments)


def _run_ahead(rank: int, plan: StepPlan) -> float:
    share = chance(rank, 31 * plan.number)
    stretches = plan.ranks[rank]
    waits = any(stretch.phase == "sync" for stretch in stretches)
    if waits or _is_starved(stretches, plan) or _is_without_work(stretches):
        return 0.001 + 0.003 * share
    return _RUN_AHEAD_SECONDS * (0.8 + 0.4 * share)


def _is_starved(stretches: tuple[Stretch, ...], plan: StepPlan) -> bool:
    waits = sum(stretch.duration for stretch in stretches if stretch.phase == "data")
    return waits > _STARVED_RATIO * (plan.end - plan.start)


def _is_without_work(stretches: tuple[Stretch, ...]) -> bool:
    return any(
        stretch.phase == "backward" and stretch.activity.sm_active < _HOLLOW_SM_ACTIVE
        for stretch in stretches
    )


def _loss(rank: int, number: int) -> float:
    noise = 0.05 * (chance(rank, 17 * number) - 0.5)
    return 1.92 + 4.6 * exp(-number / 6000.0) + 0.02 * sin(number / 40.0) + noise


def _allocator(rank: int, number: int) -> AllocatorReading:
    return AllocatorReading(
        allocated_bytes=int((57.4 + 0.6 * chance(rank, number)) * GIB),
        reserved_bytes=int(66.9 * GIB),
        inactive_split_bytes=int((1.1 + 0.05 * rank) * GIB),
        alloc_retries=0,
        ooms=0,
    )


def _loader(rank: int, spell: Spell, plan: StepPlan) -> LoaderReading:
    starved = spell.phase == "data" or _is_starved(plan.ranks[rank], plan)
    ready = 0 if starved else _QUEUE - int(2.0 * chance(rank, plan.number))
    return LoaderReading(
        num_workers=WORKERS,
        worker_pids=worker_pids(rank),
        prefetch_factor=2,
        pin_memory=True,
        persistent_workers=True,
        batch_size=SAMPLES_PER_STEP,
        queue_depth=ready,
        queue_capacity=_QUEUE,
    )


def _threads(rank: int, now: float) -> tuple[ThreadPhaseReading, ...]:
    """Rank 0 writes a checkpoint in the background now and then."""
    inside = now % _SAVES_EVERY_SECONDS
    if rank != 0 or inside >= _SAVE_SECONDS:
        return ()
    return (
        ThreadPhaseReading(
            native_id=rank_pid(0) + 9000,
            name="async_save",
            phase="checkpoint",
            phase_monotonic_seconds=now - inside,
        ),
    )
