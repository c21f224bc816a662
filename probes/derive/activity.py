"""Ranks as seen from outside: how long each has stood still, and its phase where no probe tells it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ..model.frame import Frame
from ..model.job_frames import JobFrame, RankFrame
from ..model.process_frames import ProcessFrame
from ..model.rank_activity import ActivityFrame
from ..model.rank_readings import DUMPS_SECONDS, StackReading, ThreadReading, ThreadsReading
from ..model.reading import Key, key_of
from ..model.sample import Sample
from ..model.vocabulary import LONG_PHASES
from ..model.wait_kinds import wait_kind

STILL_CORES = 0.02
STILL_SWITCHES_PER_SECOND = 2.0
"""A loader that waits for its workers wakes up every 5 s, and others at most once a second."""
LEAST_SAMPLES = 100
"""Fewer stacks give no share: its error would be 10 points and more."""
POLL_CORES = 0.025
POLLS_PER_SECOND = 2000.0
"""Whoever looks for a file every 50 ms needs less than that, and a training step more. A store's client
looks every millisecond."""
ASKS_CORES = 0.05
LEAST_ASKS_PER_SECOND = 50.0
"""Python asks for its interpreter every 5 ms."""
LOOK_WEIGHT = 1 / 30
"""Of the newest look among those that are remembered: about the last 30 count."""
BUSY_CORES = 0.5
"""On a node whose cores are all taken, a thread that never waits still gets about so much."""


def with_activity(
    previous: Frame | None,
    current: Sample,
    jobs: Sequence[JobFrame],
    processes: Sequence[ProcessFrame],
) -> tuple[JobFrame, ...]:
    """The jobs, with what threads and stacks tell of each rank."""
    seen = _Seen(previous, current, processes)
    return tuple(replace(job, ranks=tuple(seen.rank(rank) for rank in job.ranks)) for job in jobs)


class _Seen:
    def __init__(
        self, previous: Frame | None, current: Sample, processes: Sequence[ProcessFrame]
    ) -> None:
        self._now = current.monotonic_seconds
        self._seconds = self._now - previous.monotonic_seconds if previous else 0.0
        self._threads = {key_of(reading): reading for reading in current.threads}
        self._stacks = {key_of(reading): reading for reading in current.stacks}
        self._why_no_stacks = _why_none_at_all(current)
        self._before: Mapping[Key, ThreadsReading] = {
            key_of(reading): reading for reading in (previous.threads if previous else ())
        }
        self._ranks_before = {
            key_of(rank): rank for job in (previous.jobs if previous else ()) for rank in job.ranks
        }
        self._living = {each.pid: each for each in processes if each.state != "Z"}

    def rank(self, rank: RankFrame) -> RankFrame:
        key = key_of(rank)
        reading, before = self._threads.get(key), self._ranks_before.get(key)
        if reading is not None:
            last = before.activity if before else None
            rank = replace(rank, activity=_activity(reading, self._before.get(key), last))
        stacks = self._stacks.get(key)
        if stacks is not None and self._holds(stacks, rank):
            rank = _with_shares(self._sampled(rank, stacks), stacks)
        elif stacks is None and self._why_no_stacks:
            rank = replace(rank, missing={**rank.missing, "stack": self._why_no_stacks})
        if rank.phase is None and rank.activity is not None:
            children = [self._living[pid] for pid in rank.workers if pid in self._living]
            # Loaded for the first rank without a probe: most first frames have none.
            from ..attribution.thread_phase import guess

            reported = guess(rank.activity, self._living.get(rank.pid), children)
            rank = _with_phase(rank, reported.phase, reported.doing, inferred=True)
        rank = self._aged(rank, before)
        longest = _longest_phases(rank, before)
        in_step = self._in_long_phases(rank, before)
        if longest == rank.longest_phases and in_step == rank.long_phase_seconds:
            return rank
        return replace(rank, longest_phases=longest, long_phase_seconds=in_step)

    def _holds(self, stacks: StackReading, rank: RankFrame) -> bool:
        """Whether stacks still tell where it is: of one that stands still all that were taken since,
        else fresh ones. What was taken before the standstill is no witness of it."""
        activity = rank.activity
        if activity is not None and activity.still_since_seconds is not None:
            return activity.still_since_seconds <= stacks.monotonic_seconds
        polls = (activity.polls_since_seconds or activity.asks_since_seconds) if activity else None
        if polls is not None and polls <= stacks.monotonic_seconds:
            return True
        return self._now - stacks.monotonic_seconds <= DUMPS_SECONDS

    def _sampled(self, rank: RankFrame, stacks: StackReading) -> RankFrame:
        reason = stacks.refusal or ("" if stacks.main_stacks else stacks.failure)
        if reason:
            return replace(rank, missing={**rank.missing, "stack": reason})
        from ..attribution.stack_phase import OTHER, vote
        from ..attribution.thread_phase import asleep
        from ..model.stack_places import own_frame, place_of

        found = vote(stacks.main_stacks)
        if found is None:
            return rank
        own = own_frame(stacks.main_stacks[-1])
        doing = found.doing
        if doing == OTHER.doing and rank.activity is not None:
            doing = asleep(rank.activity) or doing
        rank = replace(
            rank,
            place=place_of(own) if own is not None else None,
            doing=doing,
            phase_dumps=found.dumps,
            phase_share=found.share,
            phase_margin=found.margin,
        )
        if rank.phase is not None:
            return rank  # a probe knows better
        return _with_phase(rank, found.phase, doing, inferred=False)

    def _aged(self, rank: RankFrame, before: RankFrame | None) -> RankFrame:
        """A phase seen from outside is as old as it has been seen, or as the rank has stood still."""
        if rank.phase is None or rank.phase_source == "measured":
            return rank
        same = before is not None and before.phase == rank.phase
        seen = (before.phase_age_seconds or 0.0) + self._seconds if same and before else 0.0
        since = rank.activity.still_since_seconds if rank.activity else None
        still = 0.0 if since is None else self._now - since
        return replace(
            rank,
            phase_age_seconds=max(seen, still),
            phase_unbroken_seconds=_unbroken(rank.activity, seen, self._now),
        )

    def _in_long_phases(self, rank: RankFrame, before: RankFrame | None) -> float:
        """Of the time since its last step ended."""
        same = before is not None and before.step == rank.step
        known = before.long_phase_seconds if same and before else 0.0
        if rank.phase not in LONG_PHASES:
            return known
        return min(known + self._seconds, rank.step_age_seconds or math.inf)


def _longest_phases(rank: RankFrame, before: RankFrame | None) -> dict[str, float]:
    """With the one that has just ended, where that was a long one by its nature."""
    if before is None:
        return {}
    known, phase, age = before.longest_phases, before.phase, before.phase_age_seconds or 0.0
    goes_on = rank.phase == phase and (rank.phase_age_seconds or 0.0) >= age
    if phase not in LONG_PHASES or goes_on or age <= known.get(phase, 0.0):
        return known
    return {**known, phase: age}


def _unbroken(activity: ActivityFrame | None, seen: float, now: float) -> float | None:
    """Whoever sleeps on is where it was; of who runs without a pause all looks are needed."""
    if activity is None:
        return None
    if activity.still_since_seconds is not None:
        return now - activity.still_since_seconds
    if activity.busy_since_seconds is not None:
        return min(seen, now - activity.busy_since_seconds)
    return None


def _with_shares(rank: RankFrame, stacks: StackReading) -> RankFrame:
    whole = sum(stacks.phase_samples.values())
    enough = whole >= LEAST_SAMPLES
    shares = {phase: count / whole for phase, count in stacks.phase_samples.items() if enough}
    return replace(rank, phases_sampled=shares, phases_sampled_count=whole)


def _with_phase(rank: RankFrame, phase: str, doing: str, *, inferred: bool) -> RankFrame:
    missing = {name: reason for name, reason in rank.missing.items() if name != "phase"}
    return replace(
        rank,
        phase=phase,
        doing=doing,
        phase_source="inferred" if inferred else "sampled",
        missing=missing,
    )


def _why_none_at_all(sample: Sample) -> str:
    """What keeps stacks from being taken of anybody here; empty where nothing does."""
    status = next((each for each in sample.sources if each.name == "stacks"), None)
    if status is None or status.status in ("ok", "stale"):
        return ""
    return status.reason or status.status


def _activity(
    reading: ThreadsReading, before: ThreadsReading | None, last: ActivityFrame | None
) -> ActivityFrame:
    main = reading.main
    same = before is not None and before.monotonic_seconds == reading.monotonic_seconds
    if same and last is not None:
        return last
    autograd = [thread for thread in reading.others if thread.name.startswith("pt_autograd")]
    seconds = reading.monotonic_seconds - before.monotonic_seconds if before else 0.0
    known = before is not None and seconds > 0
    cores = _grown(main, before.main) / seconds if known and before else None
    switches = _switches(main, before.main, seconds) if known and before else None
    backward = _autograd(autograd, before, seconds) if known and before and autograd else None
    still = main.state != "R" and cores is not None and cores < STILL_CORES
    still &= backward is None or backward < STILL_CORES
    still &= switches is None or switches < STILL_SWITCHES_PER_SECOND
    busy = cores is not None and cores >= BUSY_CORES
    busy &= switches is not None and switches < STILL_SWITCHES_PER_SECOND
    awake = main.state == "R" and (cores or 0.0) >= STILL_CORES
    awake &= switches is not None and switches < STILL_SWITCHES_PER_SECOND
    sleeps = main.state == "S" and wait_kind(main.wait_channel) == "timer"
    woke = main.state == "R" and last is not None and last.polls_since_seconds is not None
    polls = not still and (sleeps or woke)
    polls &= cores is not None and _smoothed(cores, last) < POLL_CORES
    polls &= switches is not None and switches < POLLS_PER_SECOND
    unveiled = main.state == "R" or main.wait_channel is None  # just now
    asked = unveiled and last is not None and last.asks_since_seconds is not None
    asks = not still and (wait_kind(main.wait_channel) == "lock" or asked)
    asks &= cores is not None and cores < ASKS_CORES
    asks &= switches is not None and LEAST_ASKS_PER_SECOND <= switches < POLLS_PER_SECOND
    began = before.monotonic_seconds if before else None
    moved = last.moved_seconds if last else 0.0
    return ActivityFrame(
        state=main.state,
        wait=wait_kind(main.wait_channel),
        wait_channel=main.wait_channel,
        cpu_cores=cores,
        switches_per_second=switches,
        autograd_cores=backward,
        still_since_seconds=((last and last.still_since_seconds) or began) if still else None,
        still_looks=(last.still_looks if last else 0) + 1 if still else 0,
        busy_since_seconds=((last and last.busy_since_seconds) or began) if busy else None,
        polls_since_seconds=((last and last.polls_since_seconds) or began) if polls else None,
        awake_since_seconds=((last and last.awake_since_seconds) or began) if awake else None,
        asks_since_seconds=((last and last.asks_since_seconds) or began) if asks else None,
        waiting_looks_ratio=_waiting_looks(main, last),
        looks=(last.looks if last else 0) + 1,
        moved_seconds=moved if still or not known else moved + seconds,
    )


def _waiting_looks(main: ThreadReading, last: ActivityFrame | None) -> float:
    waits = main.state == "S" and wait_kind(main.wait_channel) in ("lock", "poll", "socket")
    if last is None or last.waiting_looks_ratio is None:
        return float(waits)
    weight = max(LOOK_WEIGHT, 1 / (last.looks + 1))
    return last.waiting_looks_ratio + weight * (waits - last.waiting_looks_ratio)


def _smoothed(cores: float, last: ActivityFrame | None) -> float:
    """Of one that polled before, the mean of two looks: a few ticks may fall into the same second."""
    if last is None or last.polls_since_seconds is None or last.cpu_cores is None:
        return cores
    return (cores + last.cpu_cores) / 2


def _autograd(threads: Sequence[ThreadReading], before: ThreadsReading, seconds: float) -> float:
    earlier = {thread.tid: thread for thread in before.others}
    grown = [_grown(now, earlier[now.tid]) for now in threads if now.tid in earlier]
    return sum(grown) / seconds


def _grown(now: ThreadReading, before: ThreadReading) -> float:
    return max(0.0, now.cpu_seconds - before.cpu_seconds)


def _switches(now: ThreadReading, before: ThreadReading, seconds: float) -> float | None:
    if now.voluntary_switches is None or before.voluntary_switches is None:
        return None
    return max(0, now.voluntary_switches - before.voluntary_switches) / seconds
