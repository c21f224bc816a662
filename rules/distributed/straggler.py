from __future__ import annotations

from collections.abc import Iterable

from ...probes.model.frame import Frame
from ...probes.model.job_frames import JobFrame
from ..device._surroundings import look_around
from ..finding import Evidence, Finding, Subject, Verdict, against_peers, compared
from ..progress import overdue_seconds
from ..rank_rule import NO_PROBE
from ..rule import Rule, Scene, Threshold
from ..waits.ranks import rank_subject
from ._lateness import Late, late_one
from ._sampled_lateness import MARGIN, sampled_late

AROUND_SECONDS = 30.0
_COMPUTE = frozenset({"forward", "backward", "optimizer"})
_UNLIKE = "Give the rank on the slower model less of the work, or GPUs of one model to the job."
_IN_BACKWARD = "in_collectives_and_backward_ratio"


class Straggler(Rule):
    """Straggler.

    Meaning:
        In every step the others wait for the same rank: it spends less of the step in collectives than
        they do, and more in something else. Medians over its last steps are compared with those of the
        others, so that neither a hiccup nor a burden that goes from rank to rank counts. Where a rank has
        no probe, stacks are sampled of ranks whose main threads wait unequally, and a delay must be larger.
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
    explains = ("HW210", "HW211", "RUN430", "RUN436", "RUN442", "RUN443")
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
            return self._by_samples(job, subject, unprobed, scene)
        late = None if overdue_seconds(job) is not None else late_one(job, scene.frame)
        if late is None or late.delay < self.limit["info_ratio"]:
            return Verdict(subject=subject, holds=False)
        return self._verdict(job, late, scene)

    def _by_samples(self, job: JobFrame, subject: Subject, why_not: str, scene: Scene) -> Verdict:
        """Without probes, stacks are the witness, of what is much and no accident only."""
        late = sampled_late(job, scene.frame)
        if late is None:
            return Verdict(subject=subject, holds=None, unavailable=why_not)
        if late.delay < self.limit["warning_ratio"] + MARGIN:
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
            confidence=_confidence(late),
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
                *_sampled(late),
                *around,
            ),
            next_step=advice,
            lost_ratio=late.delay,
            payers=frozenset(each.rank for each in job.living if each.rank is not None),
        )


def _sampled(late: Late) -> tuple[Evidence, ...]:
    if not late.samples:
        return ()
    value = float(late.samples)
    return (Evidence(signal="dumps", value=value, unit="samples", origin="sampled"),)


def _confidence(late: Late) -> float:
    if late.samples:
        return 0.5
    return 0.9 if late.distinguished else 0.6


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
