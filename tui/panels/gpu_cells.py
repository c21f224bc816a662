"""The cells of a GPU's row: one function a column, each filling exactly its width."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import RankFrame
from ...rules.occupancy import is_free, why_owner_unseen
from ..drawing import format
from ..drawing.bars import gauge, sparkline
from ..drawing.columns import Spans
from ..drawing.glyphs import DASH, SLOWED
from ..drawing.lines import LineBuilder, Span, left, plain, right, width_of
from ..drawing.phase_roles import PHASE_ROLES
from ..drawing.rank_words import number_text

SHOW_PHASE_AGE_SECONDS = 2.0
_UNSEEN, _UNSEEN_SHORT = "owner not seen", "not seen"
_HOT_MARGIN_CELSIUS = 3.0
_SLOWDOWNS = (
    ("hw thermal slowdown", "T", "hot"),
    ("sw thermal slowdown", "T", "hot"),
    ("hw power brake", "B", "hot"),
    ("hw slowdown", "H", "hot"),
    ("reliability limit", "R", "warm"),
    ("board limit", "R", "warm"),
    ("sw power cap", "P", "dim"),
)
"""Reason of a low clock → letter behind the mark, and role."""
SLOWDOWN_ROLES = {reason: role for reason, _, role in _SLOWDOWNS}


class GpuRow(msgspec.Struct, frozen=True):
    """What a row shows."""

    gpu: GpuFrame
    rank: RankFrame | None
    job: str = ""
    """Short name of the job."""
    note: Callable[[int], Sequence[Span]] = lambda _: ()
    """For a number of cells: the worst that is said of it."""
    past: Callable[[int], Sequence[float | None]] = lambda _: ()
    """For a number of cells: utilization, oldest first."""

    @property
    def value_role(self) -> str:
        """Values that are old look it."""
        return "text" if self.gpu.status == "ok" else "stale"


def index(row: GpuRow, width: int) -> Spans:
    return [(right(str(row.gpu.index), width), "strong")]


def rank(row: GpuRow, width: int) -> Spans:
    number = row.gpu.rank if row.rank is None else row.rank.rank
    unknown = DASH if row.rank is None else number_text(None)
    return [(left(unknown if number is None else number_text(number), width), row.value_role)]


def job(row: GpuRow, width: int) -> Spans:
    return [(left(plain(row.job or DASH), width), row.value_role)]


def _unled(gpu: GpuFrame, width: int) -> str:
    """What stands for the phase of a GPU without a rank: free only where that is known."""
    if gpu.processes is None:
        return DASH
    if gpu.processes:
        return ""
    if is_free(gpu):
        return "free"
    if not why_owner_unseen(gpu):
        return DASH
    return _UNSEEN if width >= len(_UNSEEN) else _UNSEEN_SHORT


def phase(row: GpuRow, width: int) -> Spans:
    """The phase of its rank, and for how long where that is long; words where it does not answer."""
    if row.gpu.status in ("lost", "failed"):
        return [(left(row.gpu.status, width), "error")]
    if row.rank is None or row.rank.phase is None:
        return [(left(_unled(row.gpu, width), width), "dim")]
    return phase_spans(row.rank, width)


def phase_spans(rank: RankFrame, width: int) -> Spans:
    """The phase of a rank with its age; of a dead one how long it has been dead."""
    if rank.ended_age_seconds is not None:
        return _aged("exited", "error", rank.ended_age_seconds, width)
    role = PHASE_ROLES.get(rank.phase or "", "other")
    return _aged(plain(rank.phase or DASH), role, rank.phase_unbroken_seconds, width)


def _aged(word: str, role: str, age: float | None, width: int) -> Spans:
    shown = age is not None and age >= SHOW_PHASE_AGE_SECONDS
    old = format.duration(age) if shown else ""
    if width < 13 or width_of(old) > width // 2:
        old = format.short_duration(age) if shown else ""
    room = width - (width_of(old) + 1 if old else 0)
    return [(left(word, room), role), (f" {old}" if old else "", "strong")]


def utilization_bar(row: GpuRow, width: int) -> Spans:
    role = "gauge" if row.gpu.status == "ok" else "trough"
    return gauge(row.gpu.utilization_ratio, width, role)


def utilization(row: GpuRow, width: int) -> Spans:
    return [(format.percent(row.gpu.utilization_ratio, width), row.value_role)]


def past(row: GpuRow, width: int) -> Spans:
    return [(sparkline(row.past(width), width, 1.0), "spark")]


def sm(row: GpuRow, width: int) -> Spans:
    return [(format.percent(row.gpu.sm_active_ratio, width), row.value_role)]


def tensor(row: GpuRow, width: int) -> Spans:
    return [(format.percent(row.gpu.tensor_active_ratio, width), row.value_role)]


def dram(row: GpuRow, width: int) -> Spans:
    return [(format.percent(row.gpu.dram_active_ratio, width), row.value_role)]


def memory_bar(row: GpuRow, width: int) -> Spans:
    return gauge(memory_ratio(row.gpu), width, "memory" if row.gpu.status == "ok" else "trough")


def memory(row: GpuRow, width: int) -> Spans:
    """Used and total GiB, with a decimal where there is room."""
    each, decimals = (width - 1) // 2, 1 if width >= 11 else 0
    gpu = row.gpu
    text = format.used_of(gpu.memory_used_bytes, gpu.memory_total_bytes, format.GIB, each, decimals)
    return [(right(text, width), row.value_role)]


def power(row: GpuRow, width: int) -> Spans:
    """Watts, against the limit where there is room."""
    gpu = row.gpu
    if width < 9:
        return [(format.number(gpu.power_watts, width), row.value_role)]
    text = format.used_of(gpu.power_watts, gpu.power_limit_watts, 1.0, (width - 1) // 2, 0)
    return [(right(text, width), row.value_role)]


def temperature(row: GpuRow, width: int) -> Spans:
    gpu = row.gpu
    role = row.value_role
    now, limit = gpu.temperature_celsius, gpu.temperature_slowdown_celsius
    if gpu.status == "ok" and now is not None and limit is not None:
        if now >= limit:
            role = "hot"
        elif now >= limit - _HOT_MARGIN_CELSIUS:
            role = "warm"
    return [(format.number(now, width), role)]


def clock(row: GpuRow, width: int) -> Spans:
    """MHz, and a mark and letter where something holds it down."""
    mark, role = slowdown(row.gpu)
    return [
        (format.scaled(row.gpu.sm_clock_hertz, 1e6, width - 2, 0), row.value_role),
        (left(mark, 2), role),
    ]


def note(row: GpuRow, width: int) -> Spans:
    return LineBuilder(width).extend(row.note(width)).line()


def slowdown(gpu: GpuFrame) -> tuple[str, str]:
    """The mark for the worst reason of a low clock, and its role."""
    reasons = gpu.throttle_reasons or ()
    for reason, letter, role in _SLOWDOWNS:
        if reason in reasons:
            return f"{SLOWED}{letter}", role
    return "", "text"


def memory_ratio(gpu: GpuFrame) -> float | None:
    """Share of the memory that is allocated."""
    if gpu.memory_used_bytes is None or not gpu.memory_total_bytes:
        return None
    return gpu.memory_used_bytes / gpu.memory_total_bytes


ABOUT: dict[Callable[[GpuRow, int], Spans], str] = {
    index: "Number of the GPU in NVML's order, as in nvidia-smi.",
    rank: "Rank of the training job on this GPU (r3 is rank 3, r? one of unknown number). From the "
    "probe page, the environment, title or command line of its process; a dash: none is known.",
    job: "Short name of the job on this GPU, where several are here.",
    phase: "What the main loop of that rank does now; from 2 s on with how long without a break. From the "
    "probe page; without a probe from stacks (py-spy) or threads (/proc). free: no process is on the GPU. "
    "exited: how long ago its rank did.",
    utilization_bar: "Utilization, the number beside it, as a bar from 0 to 100 %. NVML.",
    utilization: "Utilization in %: share of the time in which any kernel ran, however small, in the "
    "driver's last window of 1/6 to 1 s. 100 can be utilization without work: then SM is low. NVML.",
    past: "Utilization over time, newest at the right; each cell is the mean of 4 samples. NVML.",
    sm: "SM active in %: how many of the chip's multiprocessors had work, mean since the last sample. Near "
    "0 beside a high utilization the SMs idle while a kernel waits or polls. GPM: Hopper and newer; "
    "elsewhere a dash.",
    tensor: "Tensor cores busy, in % of the time, mean since the last sample. GPM: Hopper and newer.",
    dram: "GPU memory interface busy, in % of the time, mean since the last sample. GPM: Hopper and newer.",
    memory_bar: "GPU memory in use, as a share of all of it, now. NVML.",
    memory: "GPU memory in use and in all, in GiB, now. It counts what processes have allocated, also what "
    "torch only keeps in reserve. NVML.",
    power: "Power draw in watts; where there is room, against the limit in force. Mean of the last second "
    "where the board averages, else now. NVML.",
    temperature: "Temperature of the chip in degrees Celsius, now. Colored from 3 degrees below the "
    "slowdown threshold on. NVML.",
    clock: "Clock of the multiprocessors in MHz, now. A mark and a letter behind it say what holds it "
    "down; see the marks. NVML.",
    note: "The worst finding about this GPU, in short; key 6 tells it in full. After a fold (\u2514): a symptom "
    "that another finding explains.",
}
"""For the help: each column's meaning, unit, window and source."""
