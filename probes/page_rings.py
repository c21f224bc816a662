"""The two histories of a state page: steps, and the main thread's phases. Only what is new is read."""

from __future__ import annotations

import struct
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Sequence

from .inprocess import layout
from .page_state import LEEWAY, NANOSECONDS, since
from .page_values import MOST_WHOLE, real, signed, whole
from .probe_reading import SegmentReading, StepReading

SEGMENTS = 64
"""So many phases are told each time; the first time, all that the page has."""
_LOOKED_AT_AGAIN_NANOSECONDS = 10_000_000_000
"""So long a step may get its GPU times afterwards."""
_LOOKED_AT_AGAIN = 128

_NONE = layout.CODES["none"]

Read = Callable[[int, int], bytes]
"""So many bytes of the page, from there on: fewer where it has been cut short."""


def read_ring(read: Read, at: int, size: int, places: int, first: int, last: int) -> bytes:
    """The items ``first`` to ``last`` (not included) of a ring that goes round, one after the other."""
    start, count = first % places, last - first
    before_end = min(count, places - start)
    data = read(before_end * size, at + start * size)
    if count > before_end and len(data) == before_end * size:
        data += read((count - before_end) * size, at)
    return data


class StepHistory:
    """The finished steps of a page."""

    def __init__(self) -> None:
        self._head = 0
        self._seen: dict[int, tuple[bytes, int]] = {}
        """Index → head of its record, and when the step ended; an empty head: it was not whole."""
        self._last: dict[int, StepReading] = {}
        self._ends: list[tuple[int, int]] = []

    def read(
        self, read: Read, head: int, now: int, phases: Sequence[str | None]
    ) -> tuple[StepReading, ...]:
        """Steps that are new or have changed, oldest first; and those told the last time.

        A reading may be replaced by the next before a sample takes it, so all is told twice.
        """
        if head < self._head:
            self._forget()
        oldest = max(head - layout.STEPS, 0)
        first = max(oldest, min([self._head, *self._again(head, now)]))
        data = read_ring(read, layout.STEPS_AT, layout.STEP_SIZE, layout.STEPS, first, head)
        found: dict[int, StepReading] = {}
        for index in range(first, head):
            place = data[(index - first) * layout.STEP_SIZE :][: layout.STEP_SIZE]
            reading = self._step(index, place, now, phases)
            if reading is not None:
                found[index] = reading
        self._head = head
        told = self._last | found
        self._last = found
        return tuple(told[index] for index in sorted(told))

    def number_at(self, moment: int) -> int | None:
        """Number of the step in progress at a moment in nanoseconds; ``None``: no step is known."""
        if not self._ends:
            return None
        place = bisect_right(self._ends, (moment, MOST_WHOLE))
        return self._ends[place - 1][1] + 1 if place else self._ends[0][1]

    def _forget(self) -> None:
        self._head = 0
        self._seen.clear()
        self._last.clear()
        self._ends.clear()

    def _again(self, head: int, now: int) -> list[int]:
        """Those whose GPU times may still come; the others are forgotten."""
        young = now - _LOOKED_AT_AGAIN_NANOSECONDS
        oldest = head - _LOOKED_AT_AGAIN
        self._seen = {
            index: seen for index, seen in self._seen.items() if seen[1] > young and index >= oldest
        }
        return list(self._seen)

    def _step(
        self, index: int, place: bytes, now: int, phases: Sequence[str | None]
    ) -> StepReading | None:
        head = place[: layout.RECORD_HEAD.size]
        seen = self._seen.get(index)
        if seen is not None and seen[0] == head:
            return None
        record = layout.unrecord(place)
        if record is None or record[0] != index + 1:
            # Its GPU times are just being stored, or it has gone round already.
            self._seen.setdefault(index, (b"", now))
            return None
        step = layout.unpack_step(record[1])
        if step is None or not _is_sane(step, now):
            return None
        if seen is None or not seen[0]:
            insort(self._ends, (step.ended, step.number))
            del self._ends[: -layout.STEPS]
        self._seen[index] = head, step.ended
        return _reading(step, phases)


class PhaseHistory:
    """The phases of one thread, out of its ring of words."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self._at = layout.RINGS_AT + slot * layout.RING_WORDS * 8
        self._head = 0
        self._known: deque[tuple[int, int]] = deque(maxlen=layout.RING_WORDS)
        """Moment and code, oldest first."""
        self._whole = 2
        """So many times all of it is yet to be told: twice, as with the steps."""

    def last(self, read: Read, head: int, now: int) -> tuple[int, int] | None:
        """Start and code of the newest phase in the ring."""
        self._take(read, head, now)
        return self._known[-1] if self._known else None

    def last_open(self, read: Read, head: int, now: int) -> tuple[int, int] | None:
        """The same of the newest that is a phase, and not the absence of one."""
        self._take(read, head, now)
        return next((each for each in reversed(self._known) if each[1] != _NONE), None)

    def read(
        self,
        read: Read,
        head: int,
        now: int,
        current: tuple[int, int],
        phases: Sequence[str | None],
        steps: StepHistory,
        number: int,
    ) -> tuple[SegmentReading, ...]:
        """The newest phases, oldest first, up to the current one.

        Args:
            read: the page.
            head: how many words were ever put into the ring.
            now: nanoseconds.
            current: start and code of the phase in progress.
            phases: name by code.
            steps: to tell the step that each was in.
            number: of the step in progress, where these do not tell.
        """
        self._take(read, head, now)
        told = list(self._known)
        if not self._whole:
            del told[:-SEGMENTS]
        self._whole = max(0, self._whole - 1)
        if not told or current[0] > told[-1][0]:
            told.append(current)
        segments: list[SegmentReading] = []
        for moment, code in told:
            name = phases[code]
            if name is not None:
                step = steps.number_at(moment)
                segments.append(
                    SegmentReading(name, moment / NANOSECONDS, number if step is None else step)
                )
        return tuple(segments)

    def _take(self, read: Read, head: int, now: int) -> None:
        if head < self._head:
            self._head = 0
            self._known.clear()
        first = max(self._head, head - layout.RING_WORDS)
        if first == head:
            return
        data = read_ring(read, self._at, 8, layout.RING_WORDS, first, head)
        found: list[tuple[int, int]] = []
        later = now + LEEWAY
        # From the newest back: where it has gone round meanwhile, what follows is younger.
        for (value,) in reversed(list(struct.iter_unpack("<Q", data[: len(data) // 8 * 8]))):
            moment = since(value, now)
            if moment is None or moment[0] > later:
                break
            later = moment[0]
            if moment[1] != layout.STEP_MARK:
                found.append(moment)
        last = self._known[-1][0] if self._known else 0
        self._known.extend(each for each in reversed(found) if each[0] >= last)
        self._head = head


def _is_sane(step: layout.Step, now: int) -> bool:
    return (
        step.number <= MOST_WHOLE
        and 0 < step.ended <= now + LEEWAY
        and step.duration <= step.ended
        and all(host <= step.ended for _, host, _ in step.phases)
    )


def _reading(step: layout.Step, phases: Sequence[str | None]) -> StepReading:
    host: dict[str, float] = {}
    gpu: dict[str, float] = {}
    for code, on_host, on_gpu in step.phases:
        name = phases[code]
        if name is None:
            continue
        host[name] = host.get(name, 0.0) + on_host / NANOSECONDS
        if on_gpu is not None and whole(on_gpu) is not None:
            gpu[name] = gpu.get(name, 0.0) + on_gpu / NANOSECONDS
    ahead = whole(step.run_ahead)
    return StepReading(
        number=step.number,
        monotonic_seconds=step.ended / NANOSECONDS,
        seconds=step.duration / NANOSECONDS,
        phases=host,
        gpu_phases=gpu,
        run_ahead_seconds=None if ahead is None else ahead / NANOSECONDS,
        samples=real(step.samples),
        tokens=real(step.tokens),
        loss=signed(step.loss),
        micro_steps=step.micro_steps,
        skipped=step.skipped,
    )
