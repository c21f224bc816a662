"""What the probe itself costs the job: how often each instrument is called, times what its calls take."""

from __future__ import annotations

from time import perf_counter_ns

from .instrument import ON
from .timing import Timing, reading_nanoseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .interface import InstrumentLike, ProbeLike

LIMIT_RATIO = 0.01
"""Of the time that passes. Above it, twice in a row, an instrument goes. [design, 3]"""
NOTICEABLE_RATIO = 0.001
"""To let go of what takes less would change nothing."""
WINDOW_SECONDS = 5.0
RETRY_SECONDS = 60.0
"""After so long it is tried again; after each time that it was too costly, twice as long."""
_MOST_RETRY_SECONDS = 3600.0
LEAST_BATCHES = 5
"""Fewer prove nothing against an instrument."""
_BATCHES = 8


class Cost:
    """Looked at once a second by the probe's own thread."""

    def __init__(self, probe: ProbeLike) -> None:
        self._probe = probe
        self._reading = 0
        self._accounts: dict[str, _Account] = {}
        self._began = perf_counter_ns()
        self._too_costly = 0
        self._ratio: float | None = None

    def look(self) -> float | None:
        """Share of the last whole window that the probe took; ``None`` before there was one."""
        self._reading = self._reading or reading_nanoseconds()
        now = perf_counter_ns()
        for name, instrument in tuple(self._probe.instruments.items()):
            account = self._accounts.setdefault(name, _Account(instrument))
            account.look(now, self._reading)
        if now - self._began >= WINDOW_SECONDS * 1e9:
            self._judge(now)
        return self._ratio

    def _judge(self, now: int) -> None:
        passed = now - self._began
        self._began = now
        accounts = list(self._accounts.values())
        for account in accounts:
            account.close_window(passed)
        self._ratio = sum(account.typical for account in accounts)
        least = sum(account.least for account in accounts)
        self._too_costly = self._too_costly + 1 if least > LIMIT_RATIO else 0
        if self._too_costly >= 2:
            self._too_costly = 0
            _let_go(accounts, least, now)


def _let_go(accounts: list[_Account], ratio: float, now: int) -> None:
    """Of the most costly. What counts the steps is the last to go, and of that the optimizer."""
    costly = [
        each for each in accounts if each.least >= NOTICEABLE_RATIO and each.instrument.state == ON
    ]
    if costly:
        first = min(each.instrument.counts_steps for each in costly)
        candidates = [each for each in costly if each.instrument.counts_steps == first]
        max(candidates, key=lambda each: each.least).let_go(ratio, now)


class _Account:
    """What is known of one instrument's cost.

    Attributes:
        instrument: the one.
        typical: share of the last window that its calls took, by the median call.
        least: the same by the cheapest of several batches: it takes that for sure. 0: not proven yet.
    """

    def __init__(self, instrument: InstrumentLike) -> None:
        self.instrument = instrument
        self.typical = 0.0
        self.least = 0.0
        self._calls = 0
        self._batches: list[list[int]] = []
        self._timing: Timing | None = None
        self._times_off = 0
        self._due: float | None = None

    def look(self, now: int, reading: int) -> None:
        """Take up the batch that was timed since the last look, and have another one timed."""
        if self._due is not None and now >= self._due:
            self._due = None
            self.instrument.start()
        timing = self._timing
        if timing is not None and timing.spent:
            self._batches = [*self._batches, list(timing.spent)][-_BATCHES:]
        if self.instrument.state == ON:
            self.instrument.timing = self._timing = Timing(self.instrument, reading)

    def close_window(self, passed: int) -> None:
        """Reckon what it took of so many nanoseconds."""
        calls, self._calls = self.instrument.calls - self._calls, self.instrument.calls
        spent = sorted([each for batch in self._batches for each in batch])
        self.typical = calls * spent[len(spent) // 2] / passed if spent else 0.0
        self.least = 0.0
        if len(self._batches) >= LEAST_BATCHES:
            self.least = calls * min([sum(each) / len(each) for each in self._batches]) / passed

    def let_go(self, ratio: float, now: int) -> None:
        """It costs too much: off, for a while."""
        retry = min(RETRY_SECONDS * 2**self._times_off, _MOST_RETRY_SECONDS)
        self.instrument.stop(
            f"off: the probe took {ratio:.1%} of the time, this most of it; "
            f"tried again after {retry:.0f} s"
        )
        self._due = now + retry * 1e9
        self._times_off += 1
        self._batches.clear()
        self._timing = None
