"""Everything about one GPU that is not a curve: names, limits, health, and what is missing and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.gpu_readings import NvlinkReading, XidReading
from ...probes.model.missing_reasons import NOT_OFFERED, NOT_SUPPORTED
from ...probes.model.signal_types import SignalOf
from ...probes.model.signals import signal_named, signals_of
from ...probes.model.vocabulary import FABRIC_JOINED, FABRIC_WELL
from ...rules.device._xid_codes import xid_meaning
from ..drawing import format
from ..drawing.finding_words import words_of
from ..drawing.glyphs import DASH, DOT, TIMES
from ..drawing.lines import Line, LineBuilder, blank, left, paragraph, plain, spans_width, width_of
from .link_cells import rate_spans
from .process_table import role_of

_LABEL = 21
_MOST_LINES = 4
_HALF_A_DAY_SECONDS = 43200.0
Fact = tuple[str, str, str]
"""Label, value, role."""
Group = tuple[str, Callable[[], Iterable[Fact]]]
"""Title, and what makes the facts."""


def fact_lines(gpu: GpuFrame, frame: Frame, width: int) -> list[Line]:
    """The facts, group by group."""
    groups: list[Group] = [
        ("Identity", lambda: _identity(gpu)),
        ("Xids", lambda: _xids(gpu, frame)),
        ("Kernel log", lambda: _kernel_log(gpu, frame)),
        ("Limits", lambda: _limits(gpu)),
        ("Other", lambda: signal_facts(gpu, "gpu")),
        ("Links", lambda: _links(gpu)),
        ("Health", lambda: _health(gpu)),
        ("MIG", lambda: _migs(gpu)),
        ("Processes", lambda: _processes(gpu, frame)),
        ("Missing", lambda: _missing(gpu)),
    ]
    if (
        gpu.status in ("lost", "failed") or not gpu.ever_read
    ):  # its title says so: there is nothing to be read but who it was
        del groups[3:]
    return grouped_lines(groups, width)


def grouped_lines(groups: Iterable[Group], width: int) -> list[Line]:
    """Each group under its title; one without facts is left out."""
    lines: list[Line] = []
    for title, facts in groups:
        found = list(facts())
        if found:
            lines.append(LineBuilder(width).add(title, "title").line())
            for fact in found:
                lines += _fact_lines(fact, width)
            lines.append(blank(width))
    return lines


def signal_facts(subject: Any, of: SignalOf) -> Iterable[Fact]:
    """The signals that the table lists as facts, as far as they are there."""
    for signal in signals_of(of):
        value = getattr(subject, signal.name, None) if signal.fact else None
        if value is not None:
            yield signal.words, format.quantity(value, signal.unit), "text"


def missing_facts(subject: Any, of: SignalOf) -> Iterable[str]:
    """The others of them, by reason: ``CPU pressure, IO pressure: no permission``."""
    by_reason: dict[str, list[str]] = {}
    for signal in signals_of(of):
        if signal.fact and subject is not None and getattr(subject, signal.name) is None:
            reason = subject.missing.get(signal.name, "not read yet")
            by_reason.setdefault(reason, []).append(signal.words)
    for reason, names in by_reason.items():
        yield f"{', '.join(names)}: {reason}"


def _fact_lines(fact: Fact, width: int) -> list[Line]:
    label, value, role = fact
    return paragraph(plain(value), width, role, first=f"  {left(plain(label), _LABEL)} ")


def _identity(gpu: GpuFrame) -> Iterable[Fact]:
    kind = " ".join(filter(None, (gpu.architecture, gpu.compute_capability)))
    numa = "" if gpu.numa_node is None else f" {DOT} NUMA node {gpu.numa_node}"
    yield "model", gpu.name or DASH, "strong"
    yield "architecture", kind or DASH, "text"
    yield "UUID", gpu.uuid or DASH, "text"
    yield "serial", gpu.serial or DASH, "text"
    yield "PCI", f"{gpu.pci_bus_id or DASH}{numa}", "text"


def _limits(gpu: GpuFrame) -> Iterable[Fact]:
    yield (
        "power",
        _of(gpu.power_limit_watts, gpu.power_limit_default_watts, "watts", "default"),
        "text",
    )
    slow = format.quantity(gpu.temperature_slowdown_celsius, "celsius")
    stop = format.quantity(gpu.temperature_shutdown_celsius, "celsius")
    yield "temperature", f"slows at {slow}, stops at {stop}", "text"
    clocks = format.quantity(gpu.sm_clock_max_hertz, "hertz")
    applied = format.quantity(gpu.sm_clock_application_hertz, "hertz")
    yield "SM clock", f"{clocks} {DOT} application {applied}", "text"
    yield "memory clock", _memory_clock(gpu), "text"
    reasons = gpu.throttle_reasons
    held = DASH if reasons is None else ", ".join(reasons) or "nothing"
    yield "clocks held by", held, "text" if not reasons else "strong"
    yield (
        "memory temp.",
        _of(gpu.memory_temperature_celsius, gpu.memory_temperature_max_celsius, "celsius", "limit"),
        "text",
    )
    reserved = format.binary(gpu.memory_reserved_bytes)
    yield "memory", f"{format.binary(gpu.memory_total_bytes)} {DOT} driver keeps {reserved}", "text"
    bar1 = f"{format.binary(gpu.bar1_used_bytes)} of {format.binary(gpu.bar1_total_bytes)}"
    yield "BAR1", bar1, "text"


def _memory_clock(gpu: GpuFrame) -> str:
    now = format.quantity(gpu.memory_clock_hertz, "hertz")
    state = DASH if gpu.performance_state is None else f"P{gpu.performance_state}"
    most = format.quantity(gpu.memory_clock_max_hertz, "hertz")
    return f"{now} of {most} {DOT} {state}"


def _links(gpu: GpuFrame) -> Iterable[Fact]:
    now = f"gen {_word(gpu.pcie_generation)} {TIMES}{_word(gpu.pcie_width)}"
    most = f"gen {_word(gpu.pcie_generation_max)} {TIMES}{_word(gpu.pcie_width_max)}"
    role = "text" if now == most or gpu.pcie_width_max is None else "warm"
    limit = format.quantity(gpu.pcie_limit_bytes_per_second, "bytes_per_second")
    yield "PCIe", f"{now} of {most} {DOT} {limit}", role
    replays = gpu.pcie_replays_per_second
    now = f" {DOT} now {format.quantity(replays, 'per_second')}" if replays else ""
    yield "PCIe replays", f"{_word(gpu.pcie_replays)}{now}", "warm" if replays else "text"
    if gpu.fabric_state is not None:
        well = gpu.fabric_state == FABRIC_JOINED and gpu.fabric_health in (None, FABRIC_WELL)
        health = f" {DOT} {gpu.fabric_health}" if gpu.fabric_health else ""
        yield "NVLink fabric", f"{gpu.fabric_state}{health}", "text" if well else "error"
    if gpu.nvlinks is None:
        return
    if not gpu.nvlinks:
        yield "NVLink", "none on this chip", "dim"
        return
    active = [link for link in gpu.nvlinks if link.active]
    limit = format.quantity(gpu.nvlink_limit_bytes_per_second, "bytes_per_second")
    role = "text" if len(active) == len(gpu.nvlinks) else "warm"
    yield "NVLink", f"{len(active)} of {len(gpu.nvlinks)} active {DOT} {limit} each way", role
    yield "NVLink errors", _link_errors(gpu.nvlinks), "text"


def _link_errors(links: tuple[NvlinkReading, ...]) -> str:
    parts: list[str] = []
    for name, field in (
        ("CRC", "crc_errors"),
        ("replay", "replay_errors"),
        ("recovery", "recovery_errors"),
    ):
        counts = [count for link in links if (count := getattr(link, field)) is not None]
        parts.append(f"{sum(counts) if counts else DASH} {name}")
    return f" {DOT} ".join(parts)


def _health(gpu: GpuFrame) -> Iterable[Fact]:
    ecc = {True: "on", False: "off", None: DASH}[gpu.ecc_enabled]
    counts = f"{_word(gpu.ecc_uncorrected)} uncorrected, {_word(gpu.ecc_corrected)} corrected"
    yield "ECC", f"{ecc} {DOT} {counts}", "error" if gpu.ecc_uncorrected else "text"
    yield "ECC, lifetime", f"{_word(gpu.ecc_uncorrected_lifetime)} uncorrected", "text"
    rows = f"{_word(gpu.remapped_rows_uncorrected)} uncorrected, {_word(gpu.remapped_rows_corrected)} corrected"
    pending = " and more at the next reset" if gpu.remap_pending else ""
    failed = f" {DOT} REMAPPING FAILED" if gpu.remap_failed else ""
    role = "error" if gpu.remap_failed else "warm" if gpu.remap_pending else "text"
    yield "remapped rows", f"{rows}{pending}{failed}", role
    if gpu.retired_pages is not None:
        more = " and more at the next reset" if gpu.retired_pages_pending else ""
        yield "retired pages", f"{gpu.retired_pages}{more}", "warm" if more else "text"
    action = gpu.recovery_action
    yield "recovery", action or DASH, "text" if action in (None, "none") else "error"
    persistence = {True: "on", False: "off", None: DASH}[gpu.persistence_mode]
    yield "persistence", f"{persistence} {DOT} compute mode {gpu.compute_mode or DASH}", "text"
    yield "energy", format.quantity(gpu.energy_joules, "joules"), "text"


def _xids(gpu: GpuFrame, frame: Frame) -> Iterable[Fact]:
    for xid in xids_of(gpu, frame):
        who = "" if xid.pid is None else f" {DOT} pid {xid.pid}"
        yield _moment(xid.time_seconds, frame), f"{xid_text(xid)}{who}", "error"


def _kernel_log(gpu: GpuFrame, frame: Frame) -> Iterable[Fact]:
    """The newest lines about it, without Xids that have a line of their own."""
    lines = [
        each
        for each in frame.kernel_log
        if gpu.index in each.gpus and (each.kind != "xid" or each.time_seconds is None)
    ]
    for line in lines[-_MOST_LINES:]:
        often = f" {TIMES}{line.count}" if line.count > 1 else ""
        role = "dim" if line.level == "corrected" else "text"
        yield _moment(line.time_seconds, frame), f"{plain(line.text)}{often}", role


def _moment(time_seconds: float | None, frame: Frame) -> str:
    """The time of day; of what is older than that, how long ago it was."""
    if time_seconds is None or frame.time_seconds - time_seconds < _HALF_A_DAY_SECONDS:
        return format.clock(time_seconds)
    return f"{format.duration(frame.time_seconds - time_seconds)} ago"


def xid_text(xid: XidReading) -> str:
    """``Xid 79 GPU has fallen off the bus``."""
    return f"Xid {xid.code} {plain(xid.text or xid_meaning(xid.code).meaning)}"


def xids_of(gpu: GpuFrame, frame: Frame) -> list[XidReading]:
    """The recent error reports about a GPU."""
    return [
        xid
        for xid in frame.xids
        if xid.gpu_index == gpu.index or (xid.gpu_uuid and xid.gpu_uuid == gpu.uuid)
    ]


def _migs(gpu: GpuFrame) -> Iterable[Fact]:
    for mig in gpu.migs:
        used = f"{format.binary(mig.memory_used_bytes)} of {format.binary(mig.memory_total_bytes)}"
        place = f"GPU instance {_word(mig.gpu_instance)}, compute instance {_word(mig.compute_instance)}"
        size = f"{_word(mig.multiprocessors)} SMs"
        yield (
            f"instance {mig.index}",
            f"{mig.name or DASH} {DOT} {used} {DOT} {size} {DOT} {place}",
            "text",
        )


def _processes(gpu: GpuFrame, frame: Frame) -> Iterable[Fact]:
    for on in gpu.processes or ():
        process = frame.process(on.pid)
        role = role_of(process) if process else "not visible from here"
        memory = format.binary(on.memory_bytes)
        share = format.percent(on.sm_ratio).strip()
        inside = "" if on.gpu_instance is None else f" {DOT} GPU instance {on.gpu_instance}"
        text = f"{role or on.kind} {DOT} {memory} {DOT} SM {share} %{inside}"
        yield f"pid {on.pid}", text, "text"


def _missing(gpu: GpuFrame) -> Iterable[Fact]:
    for field, reason in sorted(gpu.missing.items()):
        yield words_of(field), reason + _needs(field, reason), "dim"


def _needs(field: str, reason: str) -> str:
    """What the chip or the driver would have to have, where it is one of them that does not."""
    signal = signal_named(field)
    if signal is None or not signal.needs or reason not in (NOT_SUPPORTED, NOT_OFFERED):
        return ""
    return f": it needs {signal.needs}"


def _of(value: float | None, other: float | None, unit: str, name: str) -> str:
    if value is None and other is None:
        return DASH
    return f"{format.quantity(value, unit)} {DOT} {name} {format.quantity(other, unit)}"


def _word(value: int | None) -> str:
    return DASH if value is None else str(value)


def title_lines(gpu: GpuFrame, width: int) -> list[Line]:
    """What the GPU's screen is headed with; why it does not answer goes below where it has no room."""
    line = LineBuilder(width).add(f" GPU {gpu.index}", "brand")
    line.add(f"  {plain(gpu.name or '')}", "strong")
    if gpu.status == "ok":
        rates = rate_spans(gpu)
        return [line.extend(rates if spans_width(rates) <= line.room else ()).line()]
    state = f"{gpu.status}: {plain(gpu.status_reason)}"
    if gpu.age_seconds > 0.0 and gpu.ever_read:
        state += f" {DOT} last reading {format.duration(gpu.age_seconds)} old"
    if width_of(state) + 2 <= line.room:
        return [line.add(f"  {state}", "error").line()]
    return [line.line(), *paragraph(state, width, "error", first=" ")]
