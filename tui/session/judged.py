"""What was judged in the last minutes, compressed: to be shown again as it was judged then."""

from __future__ import annotations

from collections import deque

import msgspec

from ...probes.model.frame import Frame
from ...probes.recording.zstd import compress, decompress
from ...rules.finding import Account, Finding, Judgement, NotEvaluated

KEPT_SECONDS = 600.0
_BLOCK = 20
"""Judgements in a block: one takes 30 kB, and 0.9 of them where its neighbors are beside it."""
MOST_BYTES = 1 << 20


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement without its frame, which is worked out of the samples when it is asked for."""

    time_seconds: float
    findings: tuple[Finding, ...]
    rules: int
    not_evaluated: tuple[NotEvaluated, ...]
    accounts: tuple[Account, ...]

    @staticmethod
    def of(judgement: Judgement) -> Judged:
        """What the rules said."""
        return Judged(
            time_seconds=judgement.frame.time_seconds,
            findings=judgement.findings,
            rules=judgement.rules,
            not_evaluated=judgement.not_evaluated,
            accounts=judgement.accounts,
        )

    def with_frame(self, frame: Frame) -> Judgement:
        """The judgement again."""
        return Judgement(
            frame=frame,
            findings=self.findings,
            rules=self.rules,
            not_evaluated=self.not_evaluated,
            accounts=self.accounts,
        )


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Judged).decode
_parts = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class _Block(msgspec.Struct, frozen=True):
    times: tuple[float, ...]
    data: bytes


class JudgedRing:
    """Those of the last ten minutes."""

    def __init__(self, seconds: float = KEPT_SECONDS, most_bytes: int = MOST_BYTES) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._kept: deque[_Block] = deque()
        self._times: list[float] = []
        self._open: list[msgspec.Raw] = []
        self.bytes = 0
        """Of the blocks in it."""

    def add(self, judgement: Judgement) -> None:
        """Take up the newest."""
        now = judgement.frame.time_seconds
        self._times.append(now)
        self._open.append(msgspec.Raw(_encode(Judged.of(judgement))))
        if len(self._open) == _BLOCK:
            block = _Block(tuple(self._times), compress(_encode(self._open)))
            self._kept.append(block)
            self.bytes += len(block.data)
            self._times, self._open = [], []
        while self._kept and (
            self._kept[0].times[-1] < now - self._seconds or self.bytes > self._most_bytes
        ):
            self.bytes -= len(self._kept.popleft().data)

    @property
    def times(self) -> list[float]:
        """Unix time of each, oldest first."""
        return [*(time for block in self._kept for time in block.times), *self._times]

    def of(self, time_seconds: float) -> Judged | None:
        """The one of exactly that time."""
        if time_seconds in self._times:
            return _decode(self._open[self._times.index(time_seconds)])
        for block in self._kept:
            if time_seconds in block.times:
                return _decode(_parts(decompress(block.data))[block.times.index(time_seconds)])
        return None
