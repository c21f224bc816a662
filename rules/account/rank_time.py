"""The time of one rank and of its share of a GPU.

The step in progress is kept apart until it ends: where it turns out that it is stuck, all of it was lost,
also what looked like work.
"""

from __future__ import annotations

from collections.abc import Collection

from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.vocabulary import Origin
from ..progress import is_overdue
from ..waits.ranks import WAITING_PHASES
from .entries import STALLED, STRAGGLER
from .late import LateRank, waits_told
from .pool import POOLED_SECONDS, Pool
from .split import Load, host_split, is_launch_bound
from .track import Part, Track


class RankTime:
    """Of one process; all times are monotonic seconds unless they are said to be Unix time."""

    __slots__ = (
        "_batch",
        "_batch_end",
        "_device",
        "_host",
        "_number",
        "_step",
        "began",
        "gpu",
        "job",
        "seen",
    )

    def __init__(self, job: str, gpu: int | None, frame: Frame) -> None:
        self.job = job
        self.gpu = gpu
        self.began = frame.time_seconds
        """Unix time at which it was first seen."""
        self.seen = frame.monotonic_seconds
        self._number: int | None = None
        """Of the last finished step."""
        self._host = Track()
        self._device = Track()
        self._step = Pool()
        self._batch = Pool()
        """Steps that have ended, and are not split for the GPU yet."""
        self._batch_end = self.seen

    def __len__(self) -> int:
        """How many pieces are kept."""
        open_now = len(self._step.host) + len(self._batch.host)
        return len(self._host) + len(self._device) + open_now

    def add(
        self,
        rank: RankFrame,
        now: float,
        *,
        late: LateRank | None,
        load: Load,
        seconds: float,
        part: float,
    ) -> None:
        """Time that passed.

        Args:
            rank: as it is now.
            now: when that is.
            late: whom its job waits for in each step.
            load: of its GPU.
            seconds: that passed.
            part: of its GPU that it pays.
        """
        self.seen = now
        if rank.step is None or rank.step != self._number:
            self._end_step()
            self._number = rank.step
        host = host_split(rank)
        if rank.phases:
            host = waits_told(host, rank, late)
        self._step.add(host, load, seconds, part=part, launch_bound=is_launch_bound(rank))
        if self._step.seconds >= POOLED_SECONDS:
            self._settle()

    def miss(self, seconds: float, part: float) -> None:
        """Time that passed without being read, before what is added next."""
        if seconds >= POOLED_SECONDS:  # what was seen before it is of another time
            self.end()
        self._host.unseen_seconds += seconds
        self._device.unseen_seconds += seconds * part

    def blame(self, rank: RankFrame, *, stuck: bool, dead: Collection[int | None]) -> None:
        """Where its step does not end, all of that was lost, whatever it looked like.

        Args:
            rank: as it is now.
            stuck: its step is overdue, and not for others' sake.
            dead: ranks that a finding says stand still for good; with ``None`` all of the job.
        """
        key = _blamed(rank, stuck, dead)
        if key is not None:
            self._step.blame(key)

    def of_host(self, now: float, *, with_minute: bool = True) -> Part:
        """What its host did."""
        return Part.of(self._host, now, self._step.host, with_minute=with_minute)

    def of_device(self, now: float) -> Part:
        """What its GPU did; what is not settled is split as it would be now."""
        unsettled = Pool()
        unsettled.merge(self._batch)
        unsettled.merge(self._step)
        return Part.of(self._device, now, unsettled.device())

    def paid(self) -> Track:
        """What its job pays with."""
        return self._host if self.gpu is None else self._device

    def device(self) -> Track:
        """Of its GPU, as far as it is settled."""
        return self._device

    def end(self) -> None:
        """Nothing more will come."""
        self._end_step()
        self._settle()

    def _end_step(self) -> None:
        if self._step.seconds:
            self._host.add(self._step.host, self.seen)
            self._batch.merge(self._step)
            self._batch_end = self.seen
            self._step = Pool()
            if self._batch.seconds >= POOLED_SECONDS:
                self._settle()

    def _settle(self) -> None:
        if self._batch.seconds:
            self._device.add(self._batch.device(), self._batch_end)
            self._batch = Pool()


def _blamed(
    rank: RankFrame, stuck: bool, dead: Collection[int | None]
) -> tuple[str, Origin] | None:
    if stuck:
        return STALLED, "measured" if rank.phases else "inferred"
    if rank.waits_for and rank.phase in WAITING_PHASES and is_overdue(rank):
        return STRAGGLER, "inferred"
    if dead and not rank.phases:
        return STALLED if rank.rank in dead or None in dead else STRAGGLER, "inferred"
    return None
