"""Which loader workers of a rank died while the others went on, from the pids of one frame after the other.

At the end of an epoch a loader whose workers do not persist lets all of them go, and starts as many anew:
workers of the same age that all leave have not died. One that leaves alone, and in whose place another one
comes while those of its age go on, has.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..model.frame import Frame
from ..model.job_frames import JobFrame, RankFrame
from ..model.probe_readings import ProbeReading
from ..model.process_frames import ProcessFrame
from ..model.reading import Key, key_of
from ..model.sample import Sample
from ..model.worker_history import Came, Gone, WorkerHistory

KEPT_SECONDS = 600.0
_MOST_KEPT = 64
_SETTLES_SECONDS = 5.0
"""All workers of a loader are gone so long after the first of them; whoever stays goes on."""
_WITHIN_SECONDS = 60.0
"""A place that stays empty for longer is taken by nobody."""
_SAME_AGE_SECONDS = 2.0
"""Workers of a loader are started one after the other, each so soon after the one before."""
_NAMED = "pt_data_worker"


def derive_workers(
    previous: Frame | None,
    current: Sample,
    jobs: Sequence[JobFrame],
    processes: Sequence[ProcessFrame],
) -> tuple[WorkerHistory, ...]:
    """Of each rank that has, or had, workers."""
    known = {process.pid: process for process in processes}
    probes = {key_of(probe): probe for probe in current.probes}
    found: list[WorkerHistory] = []
    for rank in (rank for job in jobs for rank in job.living):
        past = previous.worker_history(*key_of(rank)) if previous else None
        if past is None and not rank.workers:
            continue
        now = current.monotonic_seconds
        found.append(_appended(past, rank, known, probes.get(key_of(rank)), now))
    return tuple(found)


def _appended(
    past: WorkerHistory | None,
    rank: RankFrame,
    known: Mapping[int, ProcessFrame],
    probe: ProbeReading | None,
    now: float,
) -> WorkerHistory:
    children = [known[pid] for pid in rank.workers if pid in known]
    workers = _loading(children, known.get(rank.pid))
    living = frozenset(key_of(each) for each in workers if each.state != "Z")
    failures = probe.loader.failures if probe is not None and probe.loader is not None else None
    if past is None:
        return WorkerHistory(
            pid=rank.pid,
            start_time_seconds=rank.start_time_seconds,
            living=_groups(living),
            failures=failures,
        )
    ended = [each for each in children if each.state == "Z" and key_of(each) in past.living]
    if living == past.living.keys() and failures == past.failures and not _moves(past, ended):
        return past
    found = _with_moves(past, living, now)
    found = _with_deaths(found, ended, now)
    return _with_failures(found, failures, now)


def _moves(past: WorkerHistory, ended: Sequence[ProcessFrame]) -> bool:
    return bool(ended or past.gone or past.came or past.replaced or past.killed or past.failed)


def _loading(children: Sequence[ProcessFrame], rank: ProcessFrame | None) -> Sequence[ProcessFrame]:
    """Those that PyTorch has named; where it names none, those that run the rank's own program."""
    named = [each for each in children if each.name == _NAMED]
    if named or rank is None:
        return named
    return [each for each in children if each.command and each.command == rank.command]


def _with_moves(past: WorkerHistory, now: frozenset[Key], at: float) -> WorkerHistory:
    new = now - past.living.keys()
    groups = _groups(new)
    living = {key: past.living[key] if key in past.living else groups[key] for key in now}
    gone = [
        *(each for each in past.gone if at - each.monotonic_seconds <= _WITHIN_SECONDS),
        *(Gone(at, group) for key, group in past.living.items() if key not in now),
    ]
    came = [*past.came, *(Came(at, key) for key in sorted(new))]
    replaced = list(past.replaced)
    for each in came:
        if at - each.monotonic_seconds < _SETTLES_SECONDS or each.key not in living:
            continue
        left = next((one for one in gone if _left_alone(one, each, gone, living)), None)
        if left is not None:
            gone.remove(left)
            living[each.key] = left.group
            replaced.append(each.monotonic_seconds)
    return replace(
        past,
        living=living,
        gone=tuple(gone),
        came=tuple(each for each in came if at - each.monotonic_seconds < _SETTLES_SECONDS),
        replaced=_recent(replaced, at),
    )


def _left_alone(left: Gone, came: Came, gone: Sequence[Gone], living: Mapping[Key, float]) -> bool:
    """It was gone by then, and most of its group are still there."""
    if left.monotonic_seconds > came.monotonic_seconds:
        return False
    there = sum(group == left.group for key, group in living.items() if key != came.key)
    return there > 0 and there >= sum(each.group == left.group for each in gone)


def _groups(keys: Iterable[Key]) -> dict[Key, float]:
    """Those that were started in one go have the start of the first of them."""
    found: dict[Key, float] = {}
    first = last = -_SAME_AGE_SECONDS
    for key in sorted(keys, key=lambda key: key[1]):
        if key[1] - last > _SAME_AGE_SECONDS or not found:
            first = key[1]
        last = key[1]
        found[key] = first
    return found


def _with_deaths(past: WorkerHistory, ended: Sequence[ProcessFrame], now: float) -> WorkerHistory:
    """Of zombies that lived a frame ago: one that ended itself without an error did what it was told."""
    bad = [words for each in ended if (words := _end_words(each))]
    return replace(
        past,
        killed=_recent([*past.killed, *[now] * len(bad)], now),
        last_end=bad[-1] if bad else past.last_end,
    )


def _end_words(process: ProcessFrame) -> str:
    if process.exit_signal is not None:
        try:
            return signal.Signals(process.exit_signal).name
        except ValueError:
            return f"signal {process.exit_signal}"
    return f"exit code {process.exit_code}" if process.exit_code else ""


def _with_failures(past: WorkerHistory, failures: int | None, now: float) -> WorkerHistory:
    before = past.failures
    new = failures - before if failures is not None and before is not None else 0
    return replace(
        past,
        failures=before if failures is None else failures,
        failed=_recent([*past.failed, *[now] * min(_MOST_KEPT, max(0, new))], now),
    )


def _recent(moments: Iterable[float], now: float) -> tuple[float, ...]:
    return tuple([at for at in moments if now - at <= KEPT_SECONDS][-_MOST_KEPT:])
