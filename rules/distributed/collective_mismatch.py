from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ...probes.model.job_frames import RankFrame
from ..finding import Evidence, Subject, Verdict
from ..rule import Rule, Scene
from ..waits.build import JobWaits, all_waits, ranks_of
from ..waits.counts import evidence_of
from ..waits.motion import SHORTEST_SECONDS
from ..waits.ranks import names_of, rank_subject
from ..waits.verdict import Cause
from ._charge import ERROR_SECONDS, HOLD_SECONDS, waiting_evidence

MOST_NAMED = 4
"""Ranks whose counts are reported."""


class CollectiveMismatch(Rule):
    """Collective mismatch.

    Meaning:
        All ranks wait for each other, but not in the same collective: one has left out a call that the
        others make, makes one more, or calls them in another order. Stacks tell it by the different places
        in which they wait; the probes or NCCL's RAS by the counts of collectives launched. The odd one is
        whoever differs from more than half, with more calls or with fewer. No rank has run or woken up for
        seconds. It becomes an error after a minute.
    Impact:
        These calls never meet. The job stands still until the time limit of its process group.
    Diagnosis:
        Compare the places: a collective inside an if that depends on rank or data, a loop with a
        different count of batches per rank, an exception that one rank swallowed. Counts name the
        rank surely. Without them, of two ranks the one further down in the same function is named,
        which is a guess.
    Mitigation:
        Let all ranks make the same calls: move the collective out of the branch, give all ranks the
        same count of batches (drop_last, DistributedSampler, join).
    """

    id = "RUN404"
    name = "collective mismatch"
    short = "mismatch"
    severity = "warning"
    severities = ("warning", "error")
    hold_seconds = HOLD_SECONDS
    clear_seconds = 3.0
    thresholds = {"error_seconds": ERROR_SECONDS}
    explains = ("RUN405",)
    about_waiting = True
    next_step = (
        "Compare the places where the ranks wait: gputop stacks PID shows them side by side."
    )

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for waits in all_waits(scene).values():
            for cause in waits.causes:
                knot = cause.end in ("mismatch", "cycle") and not cause.things
                if knot and (cause.seconds >= SHORTEST_SECONDS or _is_afar(cause)):
                    yield self._verdict(cause, waits, scene)
                    break

    def _verdict(self, cause: Cause, waits: JobWaits, scene: Scene) -> Verdict:
        seconds = _seconds(cause, waits)
        odd = ranks_of(cause.culprits, waits)
        first = odd[0] if len(odd) == 1 else None if cause.culprits else _further_down(waits)
        named = first or waits.waiting[0].rank
        return Verdict(
            subject=self._subject(cause, waits, first, named),
            holds=True,
            lost_ratio=1.0,
            severity="error" if seconds >= self.limit["error_seconds"] else "warning",
            confidence=_confidence(cause, odd),
            evidence=self._evidence(cause, waits, seconds),
            next_step=self.next_step.replace("PID", str(named.pid)),
            since_monotonic_seconds=scene.frame.monotonic_seconds - seconds,
        )

    def _subject(
        self, cause: Cause, waits: JobWaits, first: RankFrame | None, named: RankFrame
    ) -> Subject:
        if first is None and (cause.culprits or waits.meetings.counts):
            # On another node, or more than one.
            return Subject(kind="job", id=waits.job.id, job=waits.job.id)
        return rank_subject(waits.job, named)

    def _evidence(self, cause: Cause, waits: JobWaits, seconds: float) -> tuple[Evidence, ...]:
        met = waits.meetings
        evidence = [*islice(evidence_of(met.counts), MOST_NAMED)]
        if met.places:
            apart = len(met.places) > 1
            where = "waiting in different places" if apart else ""
            words = "; ".join(f"{names_of(there)}: {at}" for at, there in met.places.items())
            evidence.append(
                Evidence(
                    signal="places" if apart else "place",
                    label=where,
                    value=words,
                    origin="sampled",
                )
            )
        if not cause.culprits:
            words = names_of(ranks_of(cause.named, waits))
            evidence.append(
                Evidence(
                    signal="no_majority",
                    label="nobody is in the majority; all take part",
                    value=words,
                )
            )
        return (*evidence, waiting_evidence(seconds, waits.waiting))


def _is_afar(cause: Cause) -> bool:
    """Of a rank on another node nothing but its count is known."""
    return any(not key.id.isdecimal() for key in cause.named)


def _seconds(cause: Cause, waits: JobWaits) -> float:
    """For how long all of this node have waited."""
    return min((each.seconds for each in waits.waiting), default=cause.seconds)


def _confidence(cause: Cause, odd: Sequence[RankFrame]) -> float:
    """A count that most agree on is certain; without a majority nobody is."""
    if not cause.culprits:
        return min(cause.strength, 0.5)
    return cause.strength if odd else min(cause.strength, 0.9)


def _further_down(waits: JobWaits) -> RankFrame | None:
    """Of two places in the same function, whoever is further down: it has left out a call."""
    groups = list(waits.meetings.places.values())
    if len(groups) != 2 or any(len(group) > 1 for group in groups):
        return None
    return max((rank for group in groups for rank in group), key=_line)


def _line(rank: RankFrame) -> int:
    digits = (rank.place or "").rpartition(":")[2].rstrip(")")
    return int(digits) if digits.isdecimal() else 0
