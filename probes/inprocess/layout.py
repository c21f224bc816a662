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

Layout of version 1, offsets in bytes::

    0       header, stored last when the page is made: only a finished page has the magic
    128     progress, A and B: the counters of the main loop
    512     thread slots: word, ring position, start, thread id, end, exclusive time per phase
    10752   process groups: collectives launched and returned, the newest one
    12800   gauges, A and B, JSON: what is looked at once a second
    29184   facts, A and B, JSON: what seldom changes
    94720   steps, a ring of records
    242176  rings of words, one per thread slot: each phase change
"""

from __future__ import annotations

import struct
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC = b"GPUTOPpg"
VERSION = 1

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

PROGRESS_AT = 128
PROGRESS_SIZE = 192
PROGRESS = struct.Struct("<QQQQddQQQQ")
"""Steps ended, moment of the last one's end, its nanoseconds, number told for it, samples, tokens,
micro-steps since the last step, skipped steps, evaluations, ring position in `STEPS_AT`."""

SLOTS_AT = 512
SLOT_SIZE = 640
SLOT_WORD, SLOT_HEAD, SLOT_BEGAN, SLOT_THREAD, SLOT_ENDED = 0, 8, 16, 24, 32
SLOT_TOTALS = 64

GROUPS_AT = SLOTS_AT + THREADS * SLOT_SIZE
GROUP_SIZE = 64
GROUP_LAUNCHED, GROUP_RETURNED, GROUP_WORD, GROUP_BYTES, GROUP_SEQUENCE = 0, 8, 16, 24, 32
"""How many collectives were entered and came back, the newest (moment and operation), its bytes; and
the group's own sequence number (0: not known), which also counts what DDP and FSDP launch."""

GAUGES_AT = GROUPS_AT + GROUPS * GROUP_SIZE
GAUGES_SIZE = 8192
FACTS_AT = GAUGES_AT + 2 * GAUGES_SIZE
FACTS_SIZE = 32768

STEPS_AT = FACTS_AT + 2 * FACTS_SIZE
STEP_SIZE = 576
STEP = struct.Struct("<QQQdddIIqI4x")
"""Number, moment of its end, nanoseconds, samples, tokens, loss (NaN: not told), micro-steps, flags,
run-ahead in nanoseconds (`UNKNOWN`: not known), how many phases follow."""
STEP_PHASE = struct.Struct("<QQq")
"""Code, host nanoseconds, GPU nanoseconds (`UNKNOWN`: not known)."""
_STEPS = [struct.Struct(STEP.format + "QQq" * count) for count in range(MAX_STEP_PHASES + 1)]
"""A step with so many phases, packed at once."""
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
    """

    __slots__ = (
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


class Progress(_Record):
    """The counters of the main loop, which go on. Moments and durations in nanoseconds."""

    __slots__ = (
        "duration",
        "ended",
        "evaluations",
        "micro_steps",
        "number",
        "ring_head",
        "samples",
        "skipped_steps",
        "steps",
        "tokens",
    )

    def __init__(
        self,
        steps: int = 0,
        ended: int = 0,
        duration: int = 0,
        number: int = 0,
        samples: float = 0.0,
        tokens: float = 0.0,
        micro_steps: int = 0,
        skipped_steps: int = 0,
        evaluations: int = 0,
        ring_head: int = 0,
    ) -> None:
        self.steps = steps
        self.ended = ended
        self.duration = duration
        self.number = number
        self.samples = samples
        self.tokens = tokens
        self.micro_steps = micro_steps
        self.skipped_steps = skipped_steps
        self.evaluations = evaluations
        self.ring_head = ring_head


def word(moment: int, code: int) -> int:
    """A moment in nanoseconds and a code in one word."""
    return (moment << 8 | code) & WORD_MASK


def unword(value: int, now: int) -> tuple[int, int]:
    """Moment and code of a word. ``now``: any later moment, as the word lacks the topmost bits."""
    return now - ((now - (value >> 8)) & ((1 << _MOMENT_BITS) - 1)), value & 0xFF


def record(generation: int, payload: bytes) -> bytes:
    """The bytes of a record, to be stored in one slice assignment."""
    checked = _CHECKED_HEAD.pack(generation, len(payload))
    return checked + _CHECK.pack(zlib.crc32(checked + payload)) + payload


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
    phases = step.phases[:MAX_STEP_PHASES]
    words = [
        word for code, host, gpu in phases for word in (code, host, UNKNOWN if gpu is None else gpu)
    ]
    return _STEPS[len(phases)].pack(
        step.number,
        step.ended,
        step.duration,
        _NAN if step.samples is None else step.samples,
        _NAN if step.tokens is None else step.tokens,
        _NAN if step.loss is None else step.loss,
        step.micro_steps,
        FLAG_SKIPPED if step.skipped else 0,
        UNKNOWN if step.run_ahead is None else step.run_ahead,
        len(phases),
        *words,
    )


def pack_progress(progress: Progress) -> bytes:
    """Payload of the progress record."""
    return PROGRESS.pack(
        progress.steps,
        progress.ended,
        progress.duration,
        progress.number,
        progress.samples,
        progress.tokens,
        progress.micro_steps,
        progress.skipped_steps,
        progress.evaluations,
        progress.ring_head,
    )


def unpack_step(payload: bytes) -> Step | None:
    """The step of a payload, or ``None`` if it is none."""
    if len(payload) < STEP.size:
        return None
    number, ended, duration, samples, tokens, loss, micro, flags, ahead, count = STEP.unpack_from(
        payload
    )
    if count > MAX_STEP_PHASES or len(payload) != STEP.size + count * STEP_PHASE.size:
        return None
    return Step(
        number,
        ended,
        duration,
        _untold(samples),
        _untold(tokens),
        _untold(loss),
        micro,
        bool(flags & FLAG_SKIPPED),
        None if ahead == UNKNOWN else ahead,
        [
            (code, host, None if gpu == UNKNOWN else gpu)
            for code, host, gpu in STEP_PHASE.iter_unpack(payload[STEP.size :])
            if code < MAX_CODES
        ],
    )


def _untold(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - NaN is what it is not
