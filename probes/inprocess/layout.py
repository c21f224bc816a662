"""The state page: where each thing lies in it, and how a record is packed and read.

The page is how a training process tells where it is without being asked: its probe stores into it, and
anybody who may read the file knows the phase, the step and their age, also while the process is frozen
with the interpreter's lock held, and after it died. This module is used by both sides, so it runs on
every Python that a training job may have (3.9 or later) and imports nothing but the standard library.

Two kinds of content, each readable whatever the writer was doing when it stopped:

- **Words**: aligned 8-byte integers, stored whole. The current phase of a thread is one word: the
  moment it began in nanoseconds of the monotonic clock, shifted by 8, with the phase's code below.
- **Records**: generation, length, CRC32, payload; written with one slice assignment. What is rewritten
  has two places (A and B) in turn, so the one before stays whole; a reader takes the valid one with the
  highest generation.

All integers are little-endian: so is every machine that carries an NVIDIA GPU.

Layout of version 2, offsets in bytes::

    0       header, stored last when the page is made: only a finished page has the magic
    120     a word: evaluations
    128     the newest step of the main loop, A and B: its record, whose generation is its place in the ring
    1344    thread slots: word, ring position, start, thread id, end, exclusive time per phase
    11584   process groups: collectives launched and returned, the newest one
    13632   gauges, A and B, JSON: what is looked at once a second
    30016   facts, A and B, JSON: what rarely changes
    95552   steps, a ring of records
    245056  rings of words, one per thread slot: each phase change
"""

from __future__ import annotations

import struct
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC = b"GPUTOPpg"
VERSION = 2

PHASES = (
    "none",
    "startup",
    "data",
    "h2d",
    "forward",
    "backward",
    "comm",
    "optimizer",
    "checkpoint",
    "eval",
    "compile",
    "gc",
    "sync",
    "idle",
    "other",
)
"""Fixed words by code. The user's own follow from `USER_CODE` on, named in the facts."""
CODES = {name: code for code, name in enumerate(PHASES)}
USER_CODE = 16
MAX_CODES = 64

OPERATIONS = (
    "other",
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "all_to_all",
    "barrier",
    "send",
    "recv",
    "gather",
    "scatter",
    "batch_isend_irecv",
)

WORD_MASK = (1 << 64) - 1
_MOMENT_BITS = 56

THREADS = 16
RING_WORDS = 1024
GROUPS = 32
STEPS = 256
MAX_STEP_PHASES = 20

HEADER_AT = 0
HEADER = struct.Struct("<8sIIQQQQ")
"""Magic, version, page size, pid in the job's own namespace, start time in clock ticks since boot as in
``/proc/PID/stat``, and the moment of making: monotonic and Unix, nanoseconds."""

RECORD_HEAD = struct.Struct("<QII")
"""Generation, length of the payload, CRC32 over the rest of this head and the payload."""
_CHECKED_HEAD = struct.Struct("<QI")
_CHECK = struct.Struct("<I")

EVALUATIONS_AT = 120
"""A word: how many evaluations have begun."""

NEWEST_AT = 128
STEP_SIZE = 584
"""Of a step's record, here and in the ring."""

SLOTS_AT = 1344
SLOT_SIZE = 640
SLOT_WORD, SLOT_HEAD, SLOT_BEGAN, SLOT_THREAD, SLOT_ENDED = 0, 8, 16, 24, 32
SLOT_TOTALS = 64

GROUPS_AT = SLOTS_AT + THREADS * SLOT_SIZE
GROUP_SIZE = 64
GROUP_LAUNCHED, GROUP_RETURNED, GROUP_WORD, GROUP_BYTES, GROUP_SEQUENCE = 0, 8, 16, 24, 32
GROUP_PENDING = 40
"""How many collectives were entered and came back, the newest (moment and operation), its bytes; and
the group's own sequence number (0: not known), which also counts what DDP and FSDP launch. At last, how
many of those that did not come back are asynchronous ones that the host has not begun to wait for."""

GAUGES_AT = GROUPS_AT + GROUPS * GROUP_SIZE
GAUGES_SIZE = 8192
FACTS_AT = GAUGES_AT + 2 * GAUGES_SIZE
FACTS_SIZE = 32768

STEPS_AT = FACTS_AT + 2 * FACTS_SIZE
STEP = struct.Struct("<QQQdddIIqIIdd")
"""Number, moment of its end, nanoseconds, samples, tokens, loss (NaN: not reported), micro-steps, flags,
run-ahead in nanoseconds (`UNKNOWN`: not known), how many phases follow; and of all steps up to this one:
skipped, samples, tokens."""
STEP_PHASE = struct.Struct("<QQq")
"""Code, host nanoseconds, GPU nanoseconds (`UNKNOWN`: not known)."""
_STEPS = [struct.Struct(STEP.format + "QQq" * count) for count in range(MAX_STEP_PHASES + 1)]
"""A step with so many phases, packed at once."""
_MOST_STEP_WORDS = 3 * MAX_STEP_PHASES
FLAG_SKIPPED = 1
UNKNOWN = -1
_NAN = float("nan")

RINGS_AT = STEPS_AT + STEPS * STEP_SIZE
PAGE_SIZE = RINGS_AT + THREADS * RING_WORDS * 8
HOT_SIZE = FACTS_AT
"""So much from the start is all that a look at the current state needs."""


class _Record:
    """Named values that compare by what they are. A NamedTuple would cost the job an import of typing."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Record)
            and type(self) is type(other)
            and self._values() == other._values()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()}"

    def _values(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__slots__])


class Step(_Record):
    """One finished step. Moments and durations in nanoseconds.

    Attributes:
        phases: code, host time, GPU time.
        all_skipped: how many were skipped, of all up to this one.
        all_samples: the samples of all these.
        all_tokens: and their tokens.
    """

    __slots__ = (
        "all_samples",
        "all_skipped",
        "all_tokens",
        "duration",
        "ended",
        "loss",
        "micro_steps",
        "number",
        "phases",
        "run_ahead",
        "samples",
        "skipped",
        "tokens",
    )

    def __init__(
        self,
        number: int,
        ended: int,
        duration: int,
        samples: float | None,
        tokens: float | None,
        loss: float | None,
        micro_steps: int,
        skipped: bool,
        run_ahead: int | None,
        phases: Sequence[tuple[int, int, int | None]],
        all_skipped: int = 0,
        all_samples: float = 0.0,
        all_tokens: float = 0.0,
    ) -> None:
        self.number = number
        self.ended = ended
        self.duration = duration
        self.samples = samples
        self.tokens = tokens
        self.loss = loss
        self.micro_steps = micro_steps
        self.skipped = skipped
        self.run_ahead = run_ahead
        self.phases = phases
        self.all_skipped = all_skipped
        self.all_samples = all_samples
        self.all_tokens = all_tokens


def word(moment: int, code: int) -> int:
    """A moment in nanoseconds and a code in one word."""
    return (moment << 8 | code) & WORD_MASK


def unword(value: int, now: int) -> tuple[int, int]:
    """Moment and code of a word. ``now``: any later moment, as the word lacks the topmost bits."""
    return now - ((now - (value >> 8)) & ((1 << _MOMENT_BITS) - 1)), value & 0xFF


def record(generation: int, payload: bytes) -> bytes:
    """The bytes of a record, to be stored in one slice assignment."""
    checked = _CHECKED_HEAD.pack(generation, len(payload))
    return checked + _CHECK.pack(zlib.crc32(payload, zlib.crc32(checked))) + payload


def unrecord(place: bytes) -> tuple[int, bytes] | None:
    """Generation and payload of the record that begins a place, or ``None`` if none is whole there."""
    if len(place) < RECORD_HEAD.size:
        return None
    generation, length, check = RECORD_HEAD.unpack_from(place)
    payload = bytes(place[RECORD_HEAD.size : RECORD_HEAD.size + length])
    if generation == 0 or len(payload) != length:
        return None
    expected = zlib.crc32(payload, zlib.crc32(_CHECKED_HEAD.pack(generation, length)))
    return (generation, payload) if check == expected else None


def newest(first: bytes, second: bytes) -> tuple[int, bytes] | None:
    """The valid record of the highest generation out of places A and B."""
    found = [each for each in (unrecord(first), unrecord(second)) if each]
    return max(found) if found else None


def pack_step(step: Step) -> bytes:
    """Payload of a step's record. Of more than `MAX_STEP_PHASES` phases the last are left out."""
    return step_payload(
        step.number,
        step.ended,
        step.duration,
        step.samples,
        step.tokens,
        step.loss,
        step.micro_steps,
        step.skipped,
        step.run_ahead,
        step.all_skipped,
        step.all_samples,
        step.all_tokens,
        [UNKNOWN if each is None else each for phase in step.phases for each in phase],
    )


def step_payload(
    number: int,
    ended: int,
    duration: int,
    samples: float | None,
    tokens: float | None,
    loss: float | None,
    micro_steps: int,
    skipped: bool,
    run_ahead: int | None,
    all_skipped: int,
    all_samples: float,
    all_tokens: float,
    words: list[int],
) -> bytes:
    """The same of what a `Step` has, so that the job need not make one at each of its steps.

    Args:
        number: and what follows: as in `Step`.
        words: of its phases, one after the other: code, host time, GPU time or `UNKNOWN`.
    """
    del words[_MOST_STEP_WORDS:]
    count = len(words) // 3
    return _STEPS[count].pack(
        number,
        ended,
        duration,
        _NAN if samples is None else samples,
        _NAN if tokens is None else tokens,
        _NAN if loss is None else loss,
        micro_steps,
        FLAG_SKIPPED if skipped else 0,
        UNKNOWN if run_ahead is None else run_ahead,
        count,
        all_skipped,
        all_samples,
        all_tokens,
        *words,
    )


def unpack_step(payload: bytes) -> Step | None:
    """The step of a payload, or ``None`` if it is none."""
    if len(payload) < STEP.size:
        return None
    number, ended, duration, samples, tokens, loss, micro, flags, ahead, count, *totals = (
        STEP.unpack_from(payload)
    )
    if count > MAX_STEP_PHASES or len(payload) != STEP.size + count * STEP_PHASE.size:
        return None
    return Step(
        number,
        ended,
        duration,
        _unreported(samples),
        _unreported(tokens),
        _unreported(loss),
        micro,
        bool(flags & FLAG_SKIPPED),
        None if ahead == UNKNOWN else ahead,
        [
            (code, host, None if gpu == UNKNOWN else gpu)
            for code, host, gpu in STEP_PHASE.iter_unpack(payload[STEP.size :])
            if code < MAX_CODES
        ],
        *totals,
    )


def _unreported(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - NaN is what it is not
