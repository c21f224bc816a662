"""Jobs: what the probes inside them tell, rank by rank."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from .frame import Frame, JobFrame, ProbeFrame, RankFrame
from .probe_reading import ProbeReading
from .rates import rate
from .sample import Sample

_NO_PROBE = "no probe in this process: start it under `gputop run`"


def derive_jobs(
    previous: Frame | None, current: Sample, jobs: Sequence[JobFrame]
) -> tuple[JobFrame, ...]:
    """The jobs as grouped, each rank with its phase where a probe tells it."""
    probes = {(probe.pid, probe.start_time_seconds): probe for probe in current.probes}
    before = {
        (probe.pid, probe.start_time_seconds): probe
        for probe in (previous.probes if previous else ())
    }
    earlier = {
        (rank.pid, rank.start_time_seconds): rank
        for job in (previous.jobs if previous else ())
        for rank in job.ranks
    }
    lost = {gpu.index for gpu in current.gpus if gpu.lost}

    def known(rank: RankFrame) -> RankFrame:
        key = (rank.pid, rank.start_time_seconds)
        rank = _on_lost_gpu(rank, earlier.get(key), lost)
        probe = probes.get(key)
        if probe is None:
            return msgspec.structs.replace(rank, missing={**rank.missing, "phase": _NO_PROBE})
        elapsed = current.monotonic_seconds - previous.monotonic_seconds if previous else 0.0
        probed = _probed(rank, probe, before.get(key), earlier.get(key), current)
        age = _step_age(probed, earlier.get(key), elapsed)
        return msgspec.structs.replace(probed, step_age_seconds=age)

    return tuple(msgspec.structs.replace(job, ranks=tuple(map(known, job.ranks))) for job in jobs)


def _on_lost_gpu(rank: RankFrame, earlier: RankFrame | None, lost: AbstractSet[int]) -> RankFrame:
    """A lost GPU lists no processes, but whoever was on it has not gone anywhere."""
    if rank.gpu_index is not None or earlier is None or earlier.gpu_index not in lost:
        return rank
    return msgspec.structs.replace(
        rank, gpu_index=earlier.gpu_index, gpu_uuid=earlier.gpu_uuid, missing=earlier.missing
    )


def _probed(
    rank: RankFrame,
    probe: ProbeReading,
    previous: ProbeFrame | None,
    before: RankFrame | None,
    sample: Sample,
) -> RankFrame:
    began = probe.phase_monotonic_seconds
    same = previous is not None and previous.monotonic_seconds == probe.monotonic_seconds
    seconds = probe.monotonic_seconds - previous.monotonic_seconds if previous else 0.0
    return msgspec.structs.replace(
        rank,
        phase=probe.phase,
        # Against the sample, not the reading: a frozen job's phase goes on growing old.
        phase_age_seconds=None if began is None else max(0.0, sample.monotonic_seconds - began),
        phase_source="measured",
        step=probe.step,
        step_seconds=probe.step_seconds,
        samples_per_second=before.samples_per_second
        if same and before
        else rate(probe.samples, previous.samples if previous else None, seconds),
        phases=before.phases if same and before else _shares(probe, previous),
    )


def _step_age(rank: RankFrame, before: RankFrame | None, elapsed: float) -> float | None:
    if rank.step is None:
        return None
    same = before is not None and before.step == rank.step
    seen = (before.step_age_seconds or 0.0) + elapsed if same and before else 0.0
    return max(seen, rank.phase_age_seconds or 0.0)


def _shares(probe: ProbeReading, previous: ProbeFrame | None) -> dict[str, float]:
    if previous is None:
        return {}
    grown = {
        phase: seconds - previous.phase_seconds.get(phase, 0.0)
        for phase, seconds in probe.phase_seconds.items()
    }
    if any(seconds < 0 for seconds in grown.values()):
        return {}  # the probe was started anew
    whole = sum(grown.values())
    return {phase: seconds / whole for phase, seconds in grown.items()} if whole > 0 else {}
