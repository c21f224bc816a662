from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...probes.model.vocabulary import LONG_PHASES
from ..device._surroundings import look_around
from ..finding import Evidence, Finding, Subject, Verdict, against_peers, compared
from ..progress import overdue_seconds
from ..rank_rule import NO_PROBE
from ..rule import Rule, Scene, Threshold
from ..stages import alike
from ..waits.ranks import WAITING_PHASES, rank_subject

STEPS = 10
"""So many of the newest steps are looked at: their median forgets a hiccup."""
LEAST_STEPS = 5
RECENT_SECONDS = 120.0
AROUND_SECONDS = 30.0
_IN_COLLECTIVES = frozenset({"comm"})

_COMPUTE = frozenset({"forward", "backward", "optimizer"})
_UNLIKE = "Give the rank on the slower model less of the work, or GPUs of one model to the job."
_IN_BACKWARD = "in_collectives_and_backward_ratio"

Shares = Mapping[str, float]
"""Phase → median share of a step that is spent in it."""
Known = Sequence[tuple[RankFrame, Shares]]


class Late(NamedTuple):
    """A rank that the others wait for in each step."""

    rank: RankFrame
    delay: float
    """Share of a step for which the others wait more than it does, as the next four."""
    waits: float
    others_wait: float
    phase: str
    """What it spends that time in."""
    spends: float
    others_spend: float
    distinguished: bool
    """The waiting was seen as such: not inside the backward, which hides it."""


class Straggler(Rule):
    """Straggler.

    Meaning:
        In every step the others wait for the same rank: it spends less of the step in collectives than
        they do, and more in something else. Medians over its last steps are compared with those of the
        others, so that neither a hiccup nor a burden that goes from rank to rank counts. Where a rank has
        no probe it says that it cannot look.
    Impact:
        All ranks go at the pace of this one. What the others wait is lost on as many GPUs.
    Diagnosis:
        The phase says where to look. Data: its loader workers, their files, its cores. Forward and
        backward: its GPU's clocks, temperature and power beside the others, or longer samples. Copies:
        its PCIe link. Ranks of one pipeline stage are compared with each other alone: the last stage may
        just have more to do.
    Mitigation:
        Mend what slows that rank, or move it away from that GPU or node. Where its share of the work is
        larger, balance it.
    """

    id = "RUN407"
    name = "straggler"
    severity = "warning"
    severities = ("info", "warning")
    hold_seconds = 10.0
    look_seconds = 2.0
    explains = ("HW210", "HW211", "RUN430", "RUN436", "RUN443")
    thresholds = {
        "info_ratio": Threshold(0.10, "ratio", "TraceML: 10 % of a step"),
        "warning_ratio": Threshold(0.20, "ratio", "TraceML: 20 % of a step"),
    }
    next_step = "Look at its stack beside those of the others: gputop stacks PID."

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for job in scene.frame.running:
            if len(job.living) > 1:  # else nobody is here to wait
                yield self._judged(job, scene)

    def _judged(self, job: JobFrame, scene: Scene) -> Verdict:
        subject = Subject(kind="job", id=job.id, job=job.id)
        unprobed = _unprobed(job, scene.frame)
        if unprobed:
            return Verdict(subject=subject, holds=None, unavailable=unprobed)
        late = None if overdue_seconds(job) is not None else _late_one(job, scene.frame)
        if late is None or late.delay < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        return self._verdict(job, late, scene)

    def _verdict(self, job: JobFrame, late: Late, scene: Scene) -> Verdict:
        model = _odd_model(late, job, scene.frame)
        much = late.delay >= self.limit["warning_ratio"] and not model
        limit = self.limit["warning_ratio" if much else "info_ratio"]
        around, advice = ((), _UNLIKE) if model else _around(late, scene)
        waited = "waits_in_collectives_ratio" if late.distinguished else _IN_BACKWARD
        return Verdict(
            subject=rank_subject(job, late.rank),
            holds=True,
            severity="warning" if much else "info",
            confidence=0.9 if late.distinguished else 0.6,
            evidence=(
                compared(
                    "others_delay_ratio",
                    late.delay,
                    limit,
                    "ratio",
                    label="delay of the others in a step",
                ),
                against_peers(
                    "late_phase_ratio",
                    late.spends,
                    late.others_spend,
                    "ratio",
                    label=f"in {late.phase}",
                ),
                against_peers(waited, late.waits, late.others_wait, "ratio"),
                *(
                    (Evidence(signal="other_gpu_model", label="GPU of another model", value=model),)
                    if model
                    else ()
                ),
                *around,
            ),
            next_step=advice,
            lost_ratio=late.delay,
            payers=frozenset(each.rank for each in job.living if each.rank is not None),
        )


def _odd_model(late: Late, job: JobFrame, frame: Frame) -> str:
    """Its GPU's model, where it computes longer and all the others are of another; else empty."""
    names = {
        rank.pid: gpu.name
        for rank in job.living
        if rank.gpu_index is not None and (gpu := frame.gpu(rank.gpu_index)) is not None
    }
    own = names.pop(late.rank.pid, None)
    unlike = own is not None and bool(names) and own not in names.values()
    return own or "" if unlike and late.phase in _COMPUTE else ""


def waited_for_in_backward(findings: Iterable[Finding], job: JobFrame) -> int | None:
    """The rank for which the others of this job wait inside their backward, where that was found."""
    for finding in findings:
        about = finding.id == Straggler.id and finding.subject.job == job.id
        if about and any(evidence.signal == _IN_BACKWARD for evidence in finding.evidence):
            return finding.subject.rank
    return None


def _unprobed(job: JobFrame, frame: Frame) -> str:
    """Why its ranks cannot be compared step by step; empty where they can."""
    living = job.living
    without = [rank for rank in living if frame.probe(rank.pid, rank.start_time_seconds) is None]
    if not without:
        return ""
    whom = "the ranks have" if len(without) == len(living) else f"{len(without)} of the ranks have"
    return f"{whom} {NO_PROBE}"


def _around(late: Late, scene: Scene) -> tuple[tuple[Evidence, ...], str | None]:
    """What was busy around a rank that lacks data, and what that says to do."""
    look = f"Look at what it does in {late.phase}: gputop stacks {late.rank.pid} shows it."
    gpu = scene.frame.gpu(late.rank.gpu_index) if late.rank.gpu_index is not None else None
    if late.phase != "data" or gpu is None:
        return (), look
    around = look_around(gpu, scene, AROUND_SECONDS, None)
    return around.evidence(), around.next_step() or look


def _late_one(job: JobFrame, frame: Frame) -> Late | None:
    """The rank that is waited for most, among those that do the same work."""
    found = (_late_among(ranks, frame) for ranks in alike(job, frame))
    return max((late for late in found if late is not None), key=_delay, default=None)


def _delay(late: Late) -> float:
    return late.delay


def _late_among(ranks: Sequence[RankFrame], frame: Frame) -> Late | None:
    """``None`` where not all are known, or there is nobody to wait."""
    known = [(rank, _shares(rank, frame)) for rank in ranks]
    if len(known) < 2 or not all(shares for _, shares in known):
        return None
    seen, hidden = (_latest(known, waiting) for waiting in (_IN_COLLECTIVES, WAITING_PHASES))
    # DDP's collectives run inside the backward, and so does the waiting: that is the weaker witness.
    if seen is not None and (hidden is None or seen.delay >= hidden.delay / 2):
        return seen
    return hidden


def _latest(known: Known, waiting: frozenset[str]) -> Late | None:
    return max(_compared(known, waiting), key=lambda late: late.delay, default=None)


def _shares(rank: RankFrame, frame: Frame) -> Shares:
    past = frame.rank_history(rank.pid, rank.start_time_seconds)
    oldest = frame.monotonic_seconds - RECENT_SECONDS
    steps = [
        step
        for step in (past.steps[-STEPS:] if past else ())
        if step.monotonic_seconds >= oldest and step.seconds > 0
    ]
    if len(steps) < LEAST_STEPS:
        return {}
    phases = {phase for step in steps for phase in step.phases}
    return {
        phase: median(step.phases.get(phase, 0.0) / step.seconds for step in steps)
        for phase in phases
    }


def _compared(known: Known, waiting: frozenset[str]) -> Iterator[Late]:
    for rank, own in known:
        others = [shares for other, shares in known if other is not rank]
        waits, others_wait = _sum(own, waiting), median(_sum(each, waiting) for each in others)
        more = {
            phase: share - median(each.get(phase, 0.0) for each in others)
            for phase, share in own.items()
            if phase not in waiting
        }
        phase = max(more, key=lambda each: more[each], default=None)
        # A rank that compiles, saves or evaluates is late by its nature: other rules speak of that.
        if phase is None or phase in LONG_PHASES:
            continue
        yield Late(
            rank=rank,
            # Where the others wait for something else as well, it is late by what it does longer.
            delay=min(others_wait - waits, sum(each for each in more.values() if each > 0)),
            waits=waits,
            others_wait=others_wait,
            phase=phase,
            spends=own[phase],
            others_spend=own[phase] - more[phase],
            distinguished=waiting is _IN_COLLECTIVES,
        )


def _sum(shares: Shares, phases: frozenset[str]) -> float:
    return sum(shares.get(phase, 0.0) for phase in phases)
