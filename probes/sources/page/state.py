"""The current state of a job, out of a copy of the first part of its state page.

The copy is taken while the job runs on, so two words of it may be of different instants; what is said
here holds for each order in which the writer stores.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...inprocess import layout
from ...model.probe_readings import CollectiveReading, ThreadPhaseReading
from .facts import Facts
from .values import MOST_WHOLE, real

NANOSECONDS = 1e9
LEEWAY = 10_000_000_000
"""Nanoseconds. The copy is younger than the moment that is taken for it; nothing in it is by more."""

_GC = layout.CODES["gc"]
_SLOT_HEAD = struct.Struct("<5Q")
_SLOT_THREADS = struct.Struct(
    "<" + f"{layout.SLOT_THREAD}xQ{layout.SLOT_SIZE - layout.SLOT_THREAD - 8}x" * layout.THREADS
)
_TOTALS = struct.Struct(f"<{layout.MAX_CODES}Q")
_GROUP = struct.Struct("<6Q")


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


class Slot(NamedTuple):
    """A thread's phases. Moments in nanoseconds."""

    word: int
    head: int
    began: int
    thread: int
    ended: int
    at: int
    """Where it lies in the page."""


def slot_of(hot: bytes, number: int) -> Slot | None:
    """The slot of that number, or ``None`` where no thread has taken it."""
    at = layout.SLOTS_AT + number * layout.SLOT_SIZE
    word, head, began, thread, ended = _SLOT_HEAD.unpack_from(hot, at)
    slot = Slot(word, head, began, thread, ended, at)
    return slot if slot.thread and slot.word else None


def has_ended(slot: Slot) -> bool:
    """Whether its thread has. A slot that is taken anew keeps the end of the one before."""
    return slot.ended >= slot.began > 0


def since(word: int, now: int) -> tuple[int, int] | None:
    """Moment and code of a word; ``None`` where the moment lies in the future, or before the boot."""
    moment, code = layout.unword(word, now + LEEWAY)
    return (moment, code) if moment > 0 else None


def phase_nanoseconds(
    hot: bytes, slot: Slot, now: int, interrupted: tuple[int, int] | None
) -> dict[int, int] | None:
    """Exclusive time of a thread per code, up to now, the open phase included; never too much.

    Args:
        hot: the copy.
        slot: of the thread.
        now: a moment before the copy was taken.
        interrupted: while garbage is collected, the phase that it interrupts: start and code.

    Returns:
        ``None`` where the figures contradict each other.
    """
    current = since(slot.word, now)
    totals = _TOTALS.unpack_from(hot, slot.at + layout.SLOT_TOTALS)
    counted = sum(totals)
    if current is None or slot.began > now + LEEWAY or counted > now + LEEWAY - slot.began:
        return None
    spent = {code: time for code, time in enumerate(totals) if time}
    open_since, code = current
    until = now
    if code == _GC and interrupted is not None:
        spent[_GC] = spent.get(_GC, 0) + max(0, now - open_since)
        until = open_since
        open_since, code = interrupted
    # What was charged beyond the start of the open phase is of this phase's own time: garbage
    # collections inside it, or all of it, where the writer is just about to store the next phase.
    ahead = max(0, counted - (open_since - slot.began))
    spent[code] = spent.get(code, 0) + max(0, until - open_since - ahead)
    return spent


def named(spent: dict[int, int], phases: tuple[str | None, ...]) -> dict[str, float]:
    """Seconds by name. Codes that have no name of their own are one."""
    seconds: dict[str, float] = {}
    for code, time in spent.items():
        name = phases[code]
        if name is not None:
            seconds[name] = seconds.get(name, 0.0) + time / NANOSECONDS
    return seconds


def newest_step(hot: bytes, now: int) -> layout.Step | None:
    """The main loop's last step, with the sums up to it; ``None`` where there is none, or an absurd one."""
    at, size = layout.NEWEST_AT, layout.STEP_SIZE
    found = layout.newest(hot[at : at + size], hot[at + size : at + 2 * size])
    step = layout.unpack_step(found[1]) if found else None
    if found is None or step is None or found[0] > MOST_WHOLE or not is_sane(step, now):
        return None
    if real(step.all_samples) is None or real(step.all_tokens) is None:
        return None
    return step


def is_sane(step: layout.Step, now: int) -> bool:
    """Whether a step can have been."""
    return (
        step.number <= MOST_WHOLE
        and 0 < step.ended <= now + LEEWAY
        and step.duration <= step.ended
        and all(host <= step.ended for _, host, _ in step.phases)
    )


def threads_of(hot: bytes, facts: Facts, now: int) -> Iterator[ThreadPhaseReading]:
    """The threads beside the main loop that are in a phase."""
    for number, thread in enumerate(_SLOT_THREADS.unpack_from(hot, layout.SLOTS_AT)):
        slot = None if number == facts.main_slot or not thread else slot_of(hot, number)
        if slot is None or has_ended(slot) or slot.thread > MOST_WHOLE:
            continue
        current = since(slot.word, now)
        phase = facts.phases[current[1]] if current else None
        if current and phase:
            yield ThreadPhaseReading(
                native_id=slot.thread,
                name=facts.threads.get(slot.thread, f"thread {slot.thread}"),
                phase=phase,
                phase_monotonic_seconds=current[0] / NANOSECONDS,
            )


def collectives_of(hot: bytes, facts: Facts, now: int) -> Iterator[CollectiveReading]:
    """The newest collective of each process group. Some groups never have one that the host launches."""
    for number, group in enumerate(facts.groups):
        at = layout.GROUPS_AT + number * layout.GROUP_SIZE
        launched, returned, word, _, own, pending = _GROUP.unpack_from(hot, at)
        current = since(word, now)
        if launched > MOST_WHOLE:
            continue
        moment, code = current or (0, 0)
        inside = launched - returned if current else 0
        yield CollectiveReading(
            group=group.name,
            sequence=launched,
            group_sequence=own if 0 < own <= MOST_WHOLE else None,
            operation=layout.OPERATIONS[code if code < len(layout.OPERATIONS) else 0],
            ranks=group.ranks,
            in_flight_monotonic_seconds=moment / NANOSECONDS if inside > 0 else None,
            host_waits=inside <= 0 or pending < inside,
        )
