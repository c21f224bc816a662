"""The look at the running job: some seconds, the stacks of every rank, and the exact ones if they are asked for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

import msgspec

from ....probes.attach.stack_pause import expected_pause
from ....probes.feeds.protocol import Feed
from ....probes.feeds.tapped import TappedFeed
from ....probes.jobs.ownership import job_of
from ....probes.model.frame import Frame
from ....probes.model.job_frames import JobFrame, RankFrame
from ....probes.model.process_frames import ProcessFrame
from ....probes.model.rank_readings import StackReading
from ....probes.model.sample import Sample
from ....probes.wire.messages import Reply
from ....rules.engine import Engine
from ....rules.finding import Judgement
from ...console.exits import complain
from ...drawing import format
from ...session.asked_process import AskedProcess, until
from ...session.look_time import LookTime
from ...session.watch import Watch
from ..diagnose import LAST_LOOKS

MOST_RANKS = 64
"""Of how many ranks stacks, logs and dumps are taken: a node has fewer."""
_PAST_SECONDS = 600.0
_EXACT_SECONDS = 20.0
"""So long it goes on, beyond its time, for the exact stacks that are not there yet."""


class LiveLook:
    """What came of it.

    Args:
        feed: closed when the look has ended.
        engine: judges.
        options: of the command line.
    """

    def __init__(self, feed: Feed, engine: Engine, options: Namespace) -> None:
        self.samples: list[Sample] = []
        self.jobs: dict[str, JobFrame] = {}
        """As they were seen last: those that were asked for."""
        self.last: Judgement | None = None
        self.exact: dict[int, StackReading] = {}
        self.exact_refused: dict[int, str] = {}
        self.asked = AskedProcess(options.pid[0]) if options.pid else None
        self._options = options
        self._watch = Watch(TappedFeed(feed, self.samples.append), engine, options.pid)
        self._to_stop: list[ProcessFrame] | None = None
        self._waiting: int | None = None

    def look(self) -> None:
        """Until the time is over, or the process has exited.

        Raises:
            FeedError: where nothing came at all.
        """
        wished: set[int] = set()
        looks_left = LAST_LOOKS
        try:
            for judgement in self._judgements():
                self.last = judgement
                self._find_jobs(judgement.frame)
                pids = {rank.pid for rank in self.ranks()}
                if pids - wished:
                    wished |= pids
                    self._watch.take_stacks(sorted(wished), self._options.seconds)
                if self.asked is not None and self.asked.ended:
                    looks_left -= 1  # how its ranks ended may be known a moment later only
                    if looks_left == 0:
                        break
        finally:
            self._watch.close()
            for line in filter(None, (self._watch.stuck, self._watch.cut_short)):
                complain(line)

    @property
    def frame(self) -> Frame | None:
        """The last."""
        return self.last.frame if self.last else None

    def ranks(self) -> list[RankFrame]:
        """Of all jobs that were asked for."""
        return [rank for job in self.jobs.values() for rank in job.ranks][:MOST_RANKS]

    def _judgements(self) -> Iterator[Judgement]:
        """Of its time, and what the exact stacks need beyond it: they come last, for they stop the ranks."""
        seconds, wanted = self._options.seconds, self._options.exact_stacks
        past = self._watch.past_samples  # of a simulated node, which come at once
        longest = seconds + (_EXACT_SECONDS if wanted else 0.0) + (_PAST_SECONDS if past else 0.0)
        looked = LookTime()
        for number, judgement in enumerate(until(self._watch, longest, self._options.timeout)):
            yield judgement
            if number < past:
                continue
            looked.take(judgement.frame)
            if looked.seconds >= seconds and (not wanted or self._all_exact(judgement.frame)):
                return

    def _find_jobs(self, frame: Frame) -> None:
        if self.asked is None:
            self.jobs |= {job.id: job for job in frame.running if job.ranks}
            return
        self.asked.follow(frame)
        found = job_of(frame, self.asked.pid)
        if found is not None:
            self.jobs = {found.id: found}

    def _all_exact(self, frame: Frame) -> bool:
        """Take them one after the other; whether they are all there."""
        if self._to_stop is None:
            ranks = self.ranks()
            self._to_stop = [
                each for rank in ranks if (each := frame.process(rank.pid)) is not None
            ]
            threads = max((each.threads or 1 for each in self._to_stop), default=1)
            pause = format.duration(expected_pause(threads, native=True))
            complain(f"each rank is stopped for up to {pause} to read its exact stack")
        if self._waiting is None and self._to_stop:
            process = self._to_stop.pop(0)
            self._waiting = process.pid
            self._watch.take_exact_stack(
                process, native=True, on_reply=lambda reply: self._take(process.pid, reply)
            )
        return self._waiting is None and not self._to_stop

    def _take(self, pid: int, reply: Reply) -> None:
        self._waiting = None
        try:
            self.exact[pid] = msgspec.convert(reply.data.get("stack"), StackReading)
        except msgspec.ValidationError:
            self.exact_refused[pid] = reply.message or "the collector did not say why"
