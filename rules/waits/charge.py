"""A rank at an end of the graph, and what keeps it."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...probes.model.job_frames import JobFrame, RankFrame
from .build import JobWaits
from .graph import ACTORS, Key
from .motion import SHORTEST_SECONDS, Movement
from .ranks import rank_key
from .verdict import Cause

Label = Literal[
    "stopped",
    "finished",
    "loader",
    "read",
    "own",
    "compile",
    "checkpoint",
    "evaluation",
    "startup",
    "work",
    "mismatch",
    "all wait",
]


class Charge(msgspec.Struct, frozen=True):
    """One rank at an end, and what keeps it."""

    label: Label
    cause: Cause
    waits: JobWaits
    rank: RankFrame
    movement: Movement
    waiters: tuple[RankFrame, ...]
    overtime: bool = False
    """Its alibi is over: it takes longer than such work may, and makes no progress."""

    @property
    def job(self) -> JobFrame:
        return self.waits.job

    @property
    def seconds(self) -> float:
        """By the culprit's own state; where that is not known, for no longer than others have waited."""
        own = self.movement.seconds
        return own or self.waited_seconds

    @property
    def on(self) -> Key | None:
        """What it waits for itself, where that is no actor and no meeting: a lock, a file, a socket."""
        if self.cause.on is not None:
            return self.cause.on
        own = (edge.on for edge in self.waits.graph.out.get(rank_key(self.rank), ()))
        return next((on for on in own if on.kind not in ACTORS and on.kind != "meeting"), None)

    @property
    def waited_seconds(self) -> float:
        """For how long another one has waited for it, the longest."""
        out = self.waits.graph.out
        edges = (edge for rank in self.waiters for edge in out.get(rank_key(rank), ()))
        return max((edge.seconds for edge in edges), default=0.0)

    @property
    def kept_waiting(self) -> bool:
        """Whether anybody waits for it, for longer than a step's jitter."""
        return self.waited_seconds >= SHORTEST_SECONDS

    @property
    def joint_seconds(self) -> float:
        """For how long both witnesses agree: it stands still, and others wait for it."""
        return min(self.seconds, self.waited_seconds) if self.kept_waiting else 0.0
