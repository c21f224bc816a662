"""The base of rules about single ranks that their probe tells of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from ..probes.model.frame import Frame, ProbeFrame
from ..probes.model.job_frames import JobFrame, RankFrame
from .finding import Subject, Verdict
from .rule import Rule, Scene, reading_too_old
from .waits.ranks import rank_subject

NO_PROBE = "no probe: start the job under `gputop run`"
NONE_PROBED = f"the ranks have {NO_PROBE}"


class RankRule(Rule):
    """A rule about the ranks that have a probe."""

    def judge(self, scene: Scene) -> Iterable[Verdict]:
        for job in scene.frame.running:
            for rank in job.ranks:
                subject = rank_subject(job, rank)
                probe = scene.frame.probe(rank.pid, rank.start_time_seconds)
                if probe is None:
                    yield not_known(subject, NONE_PROBED)
                    continue
                old = reading_too_old(subject, probe.age_seconds, scene.frame)
                yield old or self.judge_rank(rank, probe, subject, job, scene)

    @abstractmethod
    def judge_rank(
        self, rank: RankFrame, probe: ProbeFrame, subject: Subject, job: JobFrame, scene: Scene
    ) -> Verdict:
        """The verdict on this rank."""


def not_known(subject: Subject, why: str) -> Verdict:
    """Nothing is said of it: only that there is no probe keeps a rule from looking."""
    unavailable = why if NO_PROBE in why else ""
    return Verdict(subject=subject, holds=None, unknown_because=why, unavailable=unavailable)


def probed_ranks(job: JobFrame, frame: Frame) -> list[tuple[RankFrame, ProbeFrame]]:
    """The living ranks of a job that have a probe, with what it tells."""
    return [
        (rank, probe)
        for rank in job.ranks
        if (probe := frame.probe(rank.pid, rank.start_time_seconds)) is not None
    ]
