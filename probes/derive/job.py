"""Jobs: what the probes inside them tell, rank by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from ..model.frame import Frame, ProbeFrame
from ..model.job_frames import JobFrame, RankFrame
from ..model.missing_reasons import NOT_COUNTED
from ..model.probe_readings import ProbeReading
from ..model.rank_history import RankHistory
from ..model.reading import Key, key_of
from ..model.sample import Sample
from ..model.step_statistics import StepFigures
from .dead_ranks import with_dead_ranks
from .rank_history import minute_phases, shares_of
from .rank_waits import waits_now
from .rates import rate

STANDSTILL_STEPS = 10.0
STANDSTILL_SECONDS = 5.0
"""A job that has ended no step for so many typical ones, and at least so long, has no pace any more."""
_OF_STEPS = ("step", "current_step", "step_seconds", "step_age_seconds", "step_p50_seconds")
_RATES = ("samples", "tokens")
_NO_PROBE = "no probe in this process: start it under `gputop run`"


def derive_jobs(
    previous: Frame | None,
    current: Sample,
    jobs: Sequence[JobFrame],
    rank_histories: Mapping[Key, RankHistory],
) -> tuple[JobFrame, ...]:
    """The jobs as grouped, each rank with what its probe tells, and those that died with it."""
    probes = {key_of(probe): probe for probe in current.probes}
    earlier = {
        key_of(rank): rank for job in (previous.jobs if previous else ()) for rank in job.ranks
    }
    lost = {gpu.index for gpu in current.gpus if gpu.lost}

    def known(rank: RankFrame) -> RankFrame:
        key = key_of(rank)
        before = earlier.get(key)
        rank = _on_lost_gpu(rank, before, lost)
        probe = probes.get(key)
        if probe is None:
            return msgspec.structs.replace(rank, missing={**rank.missing, "phase": _NO_PROBE})
        if _is_known_dead(probe, before, previous):
            age = _age(probe.ended_monotonic_seconds, current.monotonic_seconds)
            return msgspec.structs.replace(rank, ended_age_seconds=age)
        return _probed(rank, probe, previous, before, rank_histories[key], current)

    def derived(job: JobFrame) -> JobFrame:
        ranks = tuple([known(rank) for rank in job.ranks])
        return msgspec.structs.replace(job, ranks=_with_waits(ranks, probes))

    return tuple([derived(job) for job in with_dead_ranks(jobs, previous, current)])


def _is_known_dead(probe: ProbeReading, before: RankFrame | None, previous: Frame | None) -> bool:
    """What its page says was made out before, and nothing is added any more: its rank is that of before."""
    if probe.ended_monotonic_seconds is None or probe.steps or previous is None:
        return False
    if before is None or before.ended_age_seconds is None:
        return False
    known = previous.probe(probe.pid, probe.start_time_seconds)
    return known is not None and known.monotonic_seconds == probe.monotonic_seconds


def _on_lost_gpu(rank: RankFrame, earlier: RankFrame | None, lost: AbstractSet[int]) -> RankFrame:
    """A lost GPU lists no processes, but whoever was on it has not gone anywhere."""
    if rank.gpu_index is not None or earlier is None or earlier.gpu_index not in lost:
        return rank
    return msgspec.structs.replace(
        rank, gpu_index=earlier.gpu_index, gpu_uuid=earlier.gpu_uuid, missing=earlier.missing
    )


def _with_waits(
    ranks: tuple[RankFrame, ...], probes: Mapping[Key, ProbeReading]
) -> tuple[RankFrame, ...]:
    reported = {
        rank.rank: probes[key_of(rank)]
        for rank in ranks
        if rank.rank is not None and key_of(rank) in probes
    }
    waits = waits_now(reported)
    if not waits:
        return ranks
    return tuple(
        [
            msgspec.structs.replace(rank, waits_for=waits[rank.rank])
            if rank.rank in waits
            else rank
            for rank in ranks
        ]
    )


def _probed(
    rank: RankFrame,
    probe: ProbeReading,
    frame: Frame | None,
    before: RankFrame | None,
    past: RankHistory,
    sample: Sample,
) -> RankFrame:
    previous = frame.probe(probe.pid, probe.start_time_seconds) if frame else None
    # Against the sample, not the reading: what is frozen goes on growing old, what is dead does not.
    ended = probe.ended_monotonic_seconds
    now = sample.monotonic_seconds if ended is None else ended
    allocator = probe.allocator
    elapsed = sample.monotonic_seconds - frame.monotonic_seconds if frame and ended is None else 0.0
    step_age = _step_age(probe, before, now, elapsed)
    phase_age = _age(probe.phase_monotonic_seconds, now)
    stands = _stands_still(past.figures, step_age)
    counted: dict[str, Any] = {}
    if probe.steps_off is None:
        counted = {
            "step": probe.step,
            "current_step": _current_step(probe, past),
            "step_seconds": probe.step_seconds,
            "step_age_seconds": step_age,
            **_of_steps(past.figures),
            **({} if stands else _throughput(past.figures, step_age, probe, previous, before)),
        }
    return msgspec.structs.replace(
        rank,
        phase=probe.phase,
        phase_age_seconds=phase_age,
        phase_unbroken_seconds=phase_age,
        phase_source=None if probe.phase is None else "measured",
        memory_allocated_bytes=allocator.allocated_bytes if allocator else None,
        memory_reserved_bytes=allocator.reserved_bytes if allocator else None,
        ended_age_seconds=_age(ended, sample.monotonic_seconds),
        probe_overhead_ratio=probe.overhead_ratio,
        **_shares(probe, previous, before, past),
        missing=_missing(rank, probe, past.figures, step_age if stands else None),
        **counted,
    )


def _of_steps(figures: StepFigures) -> dict[str, Any]:
    return {
        "step_p50_seconds": figures.p50_seconds,
        "step_p99_seconds": figures.p99_seconds,
        "step_spread_ratio": figures.spread_ratio,
        "host_step_seconds": figures.host_seconds,
        "gpu_step_seconds": figures.gpu_seconds,
        "run_ahead_seconds": figures.run_ahead_seconds,
        "throughput_spread_ratio": figures.throughput_spread_ratio,
        "loss": figures.loss,
        "phases_last_steps": figures.phases,
    }


def _stands_still(figures: StepFigures, step_age: float | None) -> bool:
    typical = figures.p50_seconds
    return (
        typical is not None
        and step_age is not None
        and step_age > max(STANDSTILL_SECONDS, STANDSTILL_STEPS * typical)
    )


def _throughput(
    figures: StepFigures,
    step_age: float | None,
    probe: ProbeReading,
    previous: ProbeFrame | None,
    before: RankFrame | None,
) -> dict[str, float | None]:
    """By whole steps, or else a rank of long steps would do nothing in most seconds."""
    if figures.seconds > 0:
        # A step that takes longer than any before counts as it grows: the rate of a hung job falls.
        seconds = figures.seconds + max(0.0, (step_age or 0.0) - figures.longest_seconds)
        return {
            "samples_per_second": _per(figures.samples, seconds),
            "tokens_per_second": _per(figures.tokens, seconds),
        }
    if previous is None or previous.monotonic_seconds == probe.monotonic_seconds:
        return {
            "samples_per_second": before.samples_per_second if before else None,
            "tokens_per_second": before.tokens_per_second if before else None,
        }
    seconds = probe.monotonic_seconds - previous.monotonic_seconds
    return {
        "samples_per_second": rate(probe.samples, previous.samples, seconds),
        "tokens_per_second": rate(probe.tokens, previous.tokens, seconds),
    }


def _shares(
    probe: ProbeReading, previous: ProbeFrame | None, before: RankFrame | None, past: RankHistory
) -> dict[str, Any]:
    same = previous is not None and previous.monotonic_seconds == probe.monotonic_seconds
    if same and before is not None:
        return {
            "phases": before.phases,
            "phases_last_minute": before.phases_last_minute,
            "last_minute_seconds": before.last_minute_seconds,
        }
    minute, seconds = minute_phases(past, probe)
    return {
        "phases": shares_of(probe.phase_seconds, previous.phase_seconds) if previous else {},
        "phases_last_minute": minute,
        "last_minute_seconds": seconds,
    }


def _missing(
    rank: RankFrame, probe: ProbeReading, figures: StepFigures, still_seconds: float | None
) -> dict[str, str]:
    """Why what is not reported is not.

    Args:
        still_seconds: for how long no step has ended, where it stands still.
    """
    missing = dict(rank.missing)
    for counted in _RATES:  # a reason of before, handed on with a lost GPU, may hold no longer
        missing.pop(f"{counted}_per_second", None)
        if still_seconds is not None and getattr(figures, counted) is not None:
            missing[f"{counted}_per_second"] = f"no step has ended for {still_seconds:.0f} s"
    if probe.steps_off is not None:
        reported = [
            f"{counted}_per_second" for counted in _RATES if getattr(figures, counted) is not None
        ]
        missing |= dict.fromkeys((*_OF_STEPS, *reported), f"{NOT_COUNTED}: {probe.steps_off}")
    elif missing.get("step", "").startswith(NOT_COUNTED):  # a reason of before, as above
        for name in _OF_STEPS:
            missing.pop(name, None)
    if probe.error is not None:
        missing["phase"] = f"the probe switched itself off: {probe.error}"
    return missing


def _current_step(probe: ProbeReading, past: RankHistory) -> int | None:
    if past.segments:
        return past.segments[-1].step
    return None if probe.step is None else probe.step + 1


def _step_age(
    probe: ProbeReading, before: RankFrame | None, now: float, elapsed: float
) -> float | None:
    """Where the page does not tell the end of the last step, at least so long ago as we know."""
    if probe.step_monotonic_seconds is not None or probe.step is None:
        return _age(probe.step_monotonic_seconds, now)
    same = before is not None and before.step == probe.step
    seen = (before.step_age_seconds or 0.0) + elapsed if same and before else 0.0
    return max(seen, _age(probe.phase_monotonic_seconds, now) or 0.0)


def _age(moment: float | None, now: float) -> float | None:
    return None if moment is None else max(0.0, now - moment)


def _per(count: float | None, seconds: float) -> float | None:
    return None if count is None or seconds <= 0 else count / seconds
