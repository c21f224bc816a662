"""What can be selected on a screen, and lines that stand for such things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ...probes.model.job_frames import RankFrame
from ...probes.model.process_frames import ProcessFrame
from ...rules.finding import Finding
from .lines import Line, text_of

TargetKind = Literal["gpu", "finding", "process", "rank", "link", "job"]


class Target(NamedTuple):
    """Something that can be selected."""

    kind: TargetKind
    id: str


class Block(NamedTuple):
    """Part of a picture: lines, and what is selected by each."""

    lines: list[Line]
    targets: list[Target | None]

    @staticmethod
    def of(lines: Sequence[Line], targets: Sequence[Target | None] = ()) -> Block:
        """Lines of which the first ones may have targets."""
        return Block(list(lines), [*targets, *[None] * (len(lines) - len(targets))])

    @property
    def text(self) -> str:
        """What can be read on it."""
        return "\n".join(map(text_of, self.lines))

    def __add__(self, other: Block) -> Block:  # type: ignore[override]
        return Block(self.lines + other.lines, self.targets + other.targets)


def finding_target(finding: Finding) -> Target:
    """The target that stands for a finding."""
    return Target("finding", f"{finding.id} {finding.subject.kind} {finding.subject.id}")


def process_target(process: ProcessFrame) -> Target:
    """The target that stands for a process."""
    return Target("process", f"{process.pid}@{process.start_time_seconds:.2f}")


def gpu_target(index: int) -> Target:
    """The target that stands for a GPU."""
    return Target("gpu", str(index))


def rank_target(rank: RankFrame) -> Target:
    """The target that stands for a rank of a job."""
    return Target("rank", f"{rank.pid}@{rank.start_time_seconds:.2f}")


def link_target(link_id: str) -> Target:
    """The target that stands for a link."""
    return Target("link", link_id)
