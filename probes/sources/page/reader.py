"""One state page, read again and again through a descriptor that stays open.

Only bounded copies are taken, never a map: a page that is cut short under a map kills who touches it.
Every byte is taken for hostile; what is absurd is left out, field by field, and why is said.
"""

from __future__ import annotations

import fcntl
import os
from typing import Any

import msgspec

from ...inprocess import layout
from ...model.probe_readings import ProbeReading
from ...model.reading import Missing
from ..procfs.text import TICKS_PER_SECOND
from .json_records import PageTexts
from .location import Owner, PageRefused, check_header, open_page
from .phases import PhaseHistory
from .state import (
    LEEWAY,
    NANOSECONDS,
    Slot,
    collectives_of,
    named,
    newest_step,
    phase_nanoseconds,
    since,
    slot_of,
    threads_of,
)
from .steps import StepHistory

_NO_PHASE = "its main thread has not been in any phase"
_NO_STEP = "no step has ended yet"
_NOT_COUNTED = "the job does not tell"
_CONTRADICTORY = "the figures in its state page contradict each other"


def find_page(
    root: str, owner: Owner, *, asleep: bool = False, again: bool = False
) -> PageReader | None:
    """The page of a process; ``None``: it has none, or none that this user may see.

    The arguments are those of `open_page`.

    Raises:
        PageRefused: what is there is not to be trusted, or not of this process or this version.
    """
    descriptor = open_page(root, owner, asleep=asleep, again=again)
    return None if descriptor is None else reader_of(descriptor, owner)


def reader_of(descriptor: int, owner: Owner) -> PageReader | None:
    """A reader of an open file, which it takes over; ``None`` where the page is not made yet.

    Raises:
        PageRefused: it is not a page of that process.
    """
    try:
        header = os.pread(descriptor, layout.HEADER.size, 0)
        if check_header(header, owner):
            if os.fstat(descriptor).st_size != layout.PAGE_SIZE:
                raise PageRefused("its state page has another size than its layout")
            return PageReader(descriptor, owner, header)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


class PageReader:
    """Reads the page of one process. Made by `find_page` and `reader_of`."""

    def __init__(self, descriptor: int, owner: Owner, header: bytes) -> None:
        self._descriptor = descriptor
        self._header = header
        self._steps = StepHistory()
        self._phases: PhaseHistory | None = None
        self._texts = PageTexts(
            ProbeReading(
                monotonic_seconds=0.0,
                pid=owner.pid,
                start_time_seconds=owner.start_ticks / TICKS_PER_SECOND,
            )
        )
        self._reasons: dict[tuple[str | None, ...], Missing] = {}

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)

    @property
    def unlinked(self) -> bool:
        """The file has no name any more: the job ended well, or its directory was emptied."""
        return os.fstat(self._descriptor).st_nlink == 0

    def ended_well(self) -> bool:
        """Whether the process, which is gone, took its leave: left all phases and removed the page."""
        slot = slot_of(self._hot(), 0)
        return self.unlinked and slot is not None and slot.word & 0xFF == layout.CODES["none"]

    def same_file(self, other: PageReader) -> bool:
        """Both are of the same file."""
        return os.path.sameopenfile(self._descriptor, other._descriptor)

    def held(self) -> bool:
        """Whether its owner holds it, as it does from before the header is stored until it ends.

        Also true of an owner in another PID namespace, which no look at ``/proc`` would find.
        """
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return False

    def last_sign_of_life(self, now: int) -> int:
        """The newest moment in it, and of a touch of the file; nanoseconds of the monotonic clock."""
        hot = self._hot()
        self._texts.refresh(hot, self._pread)
        slots = [slot_of(hot, number) for number in range(layout.THREADS)]
        words = [since(slot.word, now) for slot in slots if slot]
        newest = newest_step(hot, now)
        moments = [word[0] for word in words if word]
        moments += self._texts.gauges.taken, newest.ended if newest else 0
        return max(moment for moment in moments if moment <= now + LEEWAY)

    def touched_at(self) -> float:
        """Unix time of the last change of the file; stores through a map are none."""
        return os.fstat(self._descriptor).st_mtime

    def read(self, now: int, *, ended: int | None = None) -> ProbeReading:
        """Everything that it tells.

        Args:
            now: nanoseconds of the monotonic clock, taken just before.
            ended: when the process was first seen gone.

        Raises:
            PageRefused: it was cut short, or made another.
        """
        hot = self._hot()
        self._texts.refresh(hot, self._pread)
        facts = self._texts.facts
        newest = newest_step(hot, now)
        steps = self._steps.read(self._pread, newest.number if newest else 0, now, facts.phases)
        fields: dict[str, Any] = {
            "monotonic_seconds": now / NANOSECONDS,
            "steps": steps,
            "steps_left_out": self._steps.left_out,
            "threads": tuple(threads_of(hot, facts, now)),
            "collectives": tuple(collectives_of(hot, facts, now)) if facts.groups else (),
        }
        if ended is not None:
            fields["ended_monotonic_seconds"] = ended / NANOSECONDS
        reasons = (
            self._add_phase(fields, hot, now, ended, newest),
            _add_progress(fields, newest, facts.steps_off),
            None if newest and newest.all_samples else _NOT_COUNTED,
            None if newest and newest.all_tokens else _NOT_COUNTED,
            None if "phase_seconds" in fields else _CONTRADICTORY,
        )
        return msgspec.structs.replace(
            self._texts.template, missing=self._missing(reasons), **fields
        )

    def _hot(self) -> bytes:
        hot = self._pread(layout.HOT_SIZE, 0)
        if len(hot) < layout.HOT_SIZE:
            raise PageRefused("its state page was cut short while it was read")
        if not hot.startswith(self._header):
            raise PageRefused("its state page was made another while it was read")
        return hot

    def _pread(self, size: int, at: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, at)
        except OSError as error:
            raise PageRefused(f"its state page cannot be read: {error.strerror}") from error

    def _add_phase(
        self,
        fields: dict[str, Any],
        hot: bytes,
        now: int,
        ended: int | None,
        newest: layout.Step | None,
    ) -> str | None:
        """Add the current phase, the time in each, and those before; or say why there is none."""
        facts = self._texts.facts
        slot = slot_of(hot, facts.main_slot)
        current = since(slot.word, now) if slot else None
        if slot is None or current is None:
            return _NO_PHASE
        history = self._history_of(facts.main_slot)
        if current[1] == layout.CODES["none"] and ended is not None:
            # An exception ended it, and on its way out it left the phase that it was in.
            current = history.last_open(self._pread, slot.head, now) or current
        phase = facts.phases[current[1]]
        if phase is None:
            return _NO_PHASE
        fields["phase"] = phase
        fields["phase_monotonic_seconds"] = current[0] / NANOSECONDS
        self._add_times(fields, hot, slot, current, history, now if ended is None else ended)
        fields["segments"] = history.read(
            self._pread,
            slot.head,
            now,
            current,
            facts.phases,
            self._steps,
            newest.number + 1 if newest else 1,
        )
        return None

    def _add_times(
        self,
        fields: dict[str, Any],
        hot: bytes,
        slot: Slot,
        current: tuple[int, int],
        history: PhaseHistory,
        until: int,
    ) -> None:
        collecting = current[1] == layout.CODES["gc"]
        interrupted = history.last(self._pread, slot.head, until) if collecting else None
        spent = phase_nanoseconds(hot, slot, until, interrupted)
        if spent is not None:
            fields["phase_seconds"] = named(spent, self._texts.facts.phases)

    def _history_of(self, slot: int) -> PhaseHistory:
        if self._phases is None or self._phases.slot != slot:
            self._phases = PhaseHistory(slot)
        return self._phases

    def _missing(self, reasons: tuple[str | None, ...]) -> Missing:
        """Built once for each set of reasons: they hardly ever change."""
        if reasons not in self._reasons:
            phase, step, samples, tokens, times = reasons
            named_reasons = {
                "phase": phase,
                "step": step,
                "samples": samples,
                "tokens": tokens,
                "phase_seconds": phase or times,
            }
            self._reasons[reasons] = {name: why for name, why in named_reasons.items() if why}
        return self._reasons[reasons]


def _add_progress(
    fields: dict[str, Any], newest: layout.Step | None, off: tuple[int, str] | None
) -> str | None:
    """Add the main loop's counters; or say why there are none."""
    if off is not None and (newest is None or newest.ended <= off[0]):
        fields["steps_off"] = off[1]
    if newest is None:
        return _NO_STEP
    fields["skipped_steps"] = newest.all_skipped
    fields["samples"] = newest.all_samples or None
    fields["tokens"] = newest.all_tokens or None
    fields["step"] = newest.number
    fields["step_seconds"] = newest.duration / NANOSECONDS
    fields["step_monotonic_seconds"] = newest.ended / NANOSECONDS
    return None
