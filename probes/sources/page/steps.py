"""The finished steps of a state page, out of its ring of records. Only what is new is read."""

from __future__ import annotations

import heapq
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from ...inprocess import layout
from ...model.probe_readings import LONGEST_STEPS, NEWEST_STEPS, StepReading
from .state import NANOSECONDS, Read, is_sane, read_ring
from .values import MOST_WHOLE, real, signed, whole

_LOOKED_AT_AGAIN_NANOSECONDS = 10_000_000_000
"""So long a step may get its GPU times afterwards."""
_LOOKED_AT_AGAIN = 128
_DURATION = struct.Struct("<Q")
_DURATION_AT = layout.RECORD_HEAD.size + 16


class StepHistory:
    """The finished steps of a page."""

    def __init__(self) -> None:
        self._head = 0
        self._seen: dict[int, tuple[bytes, int]] = {}
        """Index → head of its record, and when the step ended; an empty head: it was not whole."""
        self._last: dict[int, StepReading] = {}
        self._ends: list[tuple[int, int]] = []
        self._first = True
        self.left_out = 0
        """Steps that were never read, as there were too many at once."""

    def read(
        self, read: Read, head: int, now: int, phases: Sequence[str | None]
    ) -> tuple[StepReading, ...]:
        """Steps that are new or have changed, oldest first; and those reported the last time.

        A reading may be replaced by the next before a sample takes it, so all is reported twice. Of a
        job whose steps are very short, only some are read: see `NEWEST_STEPS` and `LONGEST_STEPS`.
        """
        if head < self._head:
            self._forget()
        oldest = max(head - layout.STEPS, 0)
        first = max(oldest, min([self._head, *self._again(head, now)]))
        data = read_ring(read, layout.STEPS_AT, layout.STEP_SIZE, layout.STEPS, first, head)
        known = max(self._head, oldest)
        new = range(known, head) if self._first else self._chosen(data, first, known, head)
        self._first = self._first and not head
        found: dict[int, StepReading] = {}
        for index in (*self._seen, *new):
            if index < first:
                continue
            at = (index - first) * layout.STEP_SIZE
            seen = self._seen.get(index)
            if seen is not None and seen[0] == data[at : at + layout.RECORD_HEAD.size]:
                continue
            reading = self._step(index, data[at : at + layout.STEP_SIZE], now, phases)
            if reading is not None:
                found[index] = reading
        if self._head and known > self._head:
            self.left_out += known - self._head
        self._head = head
        reported = self._last | found
        self._last = found
        return tuple(reported[index] for index in sorted(reported))

    @property
    def newest_end(self) -> int:
        """When the last step ended; 0: none has."""
        return self._ends[-1][0] if self._ends else 0

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
        self._first = True

    def _again(self, head: int, now: int) -> list[int]:
        """Those whose GPU times may still come; the others are forgotten."""
        young = now - _LOOKED_AT_AGAIN_NANOSECONDS
        oldest = head - _LOOKED_AT_AGAIN
        self._seen = {
            index: seen for index, seen in self._seen.items() if seen[1] > young and index >= oldest
        }
        return list(self._seen)

    def _chosen(self, data: bytes, first: int, known: int, head: int) -> list[int]:
        """Indices of the new ones that are read; the others are counted."""
        newest = max(known, head - NEWEST_STEPS)
        before = range(known, newest)
        if len(before) <= LONGEST_STEPS:
            return list(range(known, head))
        self.left_out += len(before) - LONGEST_STEPS

        def duration(index: int) -> int:
            at = (index - first) * layout.STEP_SIZE + _DURATION_AT
            found: tuple[int] = (
                _DURATION.unpack_from(data, at) if at + _DURATION.size <= len(data) else (0,)
            )
            return found[0]

        return [
            *sorted(heapq.nlargest(LONGEST_STEPS, before, key=duration)),
            *range(newest, head),
        ]

    def _step(
        self, index: int, place: bytes, now: int, phases: Sequence[str | None]
    ) -> StepReading | None:
        record = layout.unrecord(place)
        if record is None or record[0] != index + 1:
            # Its GPU times are just being stored, or it has gone round already.
            self._seen.setdefault(index, (b"", now))
            return None
        step = layout.unpack_step(record[1])
        if step is None or not is_sane(step, now):
            return None
        end = (step.ended, step.number)
        position = bisect_left(self._ends, end)
        if self._ends[position : position + 1] != [end]:
            self._ends.insert(position, end)
            del self._ends[: -layout.STEPS]
        self._seen[index] = place[: layout.RECORD_HEAD.size], step.ended
        return _reading(step, phases)


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
