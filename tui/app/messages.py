"""What other threads post to the application."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ...probes.model.rank_readings import StackReading
from ...rules.finding import Judgement

_STOPPED = frozenset("Tt")


class Judged(Message):
    """There is a newer judgement; it may replace one that has not been handled yet."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__()
        self.judgement = judgement

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Judged)


class LookedBack(Message):
    """A moment of the past has been worked out; ``None``: it is not kept any more."""

    def __init__(self, moment: float, judgement: Judgement | None) -> None:
        super().__init__()
        self.moment = moment
        self.judgement = judgement


class Ended(Message):
    """Nothing will come any more."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class Said(Message):
    """A sentence for the reader."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class EnvironmentRead(Message):
    """The answer has come."""

    def __init__(self, process: ProcessFrame, environment: dict[str, str]) -> None:
        super().__init__()
        self.process = process
        self.environment = environment


class ExactStackRead(Message):
    """The dump has been taken."""

    def __init__(self, process: ProcessFrame, reading: StackReading) -> None:
        super().__init__()
        self.process = process
        self.reading = reading

    @property
    def stopped(self) -> bool:
        """Whether the process does not go on, as it should."""
        return self.reading.state_after in _STOPPED


class JobsFound(Message):
    """The look at all processes is over."""

    def __init__(self, jobs: Sequence[JobFrame]) -> None:
        super().__init__()
        self.jobs = jobs
