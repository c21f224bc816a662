"""The node without its GPUs, on one line."""

from __future__ import annotations

from typing import NamedTuple

from ...probes.model.host_frames import HostFrame, NetworkFrame
from ..drawing import format
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import DOWN, UP
from ..drawing.lines import Line, LineBuilder, Span, plain, spans_width
from ..session.view import View

_PRESSED = 0.10
_FULL = 0.92


class _Part(NamedTuple):
    rank: int
    """The highest goes first where not all fit."""
    term: str
    """Under which the help explains it."""
    spans: list[Span]


TERMS = (
    Term(
        "CPU",
        "Share of all cores that were busy, and how many there are. Since the last sample. /proc/stat.",
    ),
    Term(
        "load",
        "Threads that run, wait for a core or are in state D, mean of the last minute. /proc/loadavg.",
    ),
    Term("mem", "Host memory in use (what could not be freed at once) of all, now. /proc/meminfo."),
    Term(
        "swap-in",
        "Bytes a second read back from swap, since the last sample. Anything above 0 slows a "
        "job. /proc/vmstat.",
    ),
    Term(
        "PSI",
        "Pressure: share of the time in which some task waited for CPU, memory or IO. Since the last "
        "sample. "
        "/proc/pressure.",
    ),
    Term(
        "disk",
        ("Bytes a second of all disks: ↓ read, ↑ written, since the last sample. /proc/diskstats."),
    ),
)
"""For the help; networks follow them, the busiest first."""
NETWORKS = Term(
    "networks",
    "The busiest interfaces, in bytes a second: ↓ received, ↑ sent, since the last "
    "sample. /proc/net/dev.",
)


def host_line(view: View, width: int) -> Line:
    """What fits, the most telling first."""
    host = view.frame.host
    line = LineBuilder(width).gap()
    if host is None:
        return line.add("host is not read", "dim").line()
    for at, part in enumerate(_fitting(host, width)):
        line.gap(_gap(width) if at else 0).extend(part.spans)
    return line.line()


def explained(view: View, width: int) -> Section:
    """For the help: what fits."""
    host = view.frame.host
    drawn = {part.term for part in _fitting(host, width)} if host else set[str]()
    return Section("Host", [term for term in (*TERMS, NETWORKS) if term.name in drawn])


def _fitting(host: HostFrame, width: int) -> list[_Part]:
    parts = _parts(host)
    while len(parts) > 1 and sum(spans_width(part.spans) + _gap(width) for part in parts) > width:
        parts.remove(max(parts, key=lambda part: part.rank))
    return parts


def _gap(width: int) -> int:
    return 3 if width >= 120 else 2


def _parts(host: HostFrame) -> list[_Part]:
    parts: list[_Part] = [
        _Part(
            0, "CPU", [*_share("CPU", host.cpu_ratio, _FULL), (f" of {host.cpus or '?'}", "dim")]
        ),
        _Part(4, "load", [("load ", "dim"), (format.number(host.load_1m, 4, 0), "text")]),
        _Part(1, "mem", _memory(host)),
        _Part(3, "swap-in", _swap(host)),
        _Part(1, "PSI", _pressure(host)),
        _Part(2, "disk", _both("disk", host.read_bytes_per_second, host.write_bytes_per_second)),
    ]
    busiest = sorted(host.networks or (), key=_traffic, reverse=True)
    parts += [
        _Part(
            5 + at,
            NETWORKS.name,
            _both(plain(net.name), net.rx_bytes_per_second, net.tx_bytes_per_second),
        )
        for at, net in enumerate(busiest[:3])
    ]
    return parts


def _share(name: str, ratio: float | None, high: float) -> list[Span]:
    role = "warm" if ratio is not None and ratio >= high else "text"
    return [(f"{name} ", "dim"), (f"{format.percent(ratio)} %", role)]


def _memory(host: HostFrame) -> list[Span]:
    total, free = host.memory_total_bytes, host.memory_available_bytes
    used = total - free if total is not None and free is not None else None
    full = used is not None and total is not None and used >= _FULL * total
    text = format.used_of(used, total, format.GIB, 4, 1).rstrip()
    return [("mem ", "dim"), (text, "warm" if full else "text"), (" GiB", "dim")]


def _swap(host: HostFrame) -> list[Span]:
    rate = host.swap_in_bytes_per_second
    role = "warm" if rate else "text"
    return [
        ("swap-in ", "dim"),
        (format.scaled(rate, 1e6, 4, 0), role),
        (" MB/s", "dim"),
    ]


def _pressure(host: HostFrame) -> list[Span]:
    spans: list[Span] = [("PSI", "dim")]
    for name, ratio in (
        ("cpu", host.pressure_cpu_ratio),
        ("mem", host.pressure_memory_ratio),
        ("io", host.pressure_io_ratio),
    ):
        role = "warm" if ratio is not None and ratio >= _PRESSED else "text"
        spans += [(f" {name} ", "dim"), (format.percent(ratio), role)]
    return [*spans, (" %", "dim")]


def _both(name: str, rx: float | None, tx: float | None) -> list[Span]:
    text = f"{format.rate(rx, 4)}{DOWN} {format.rate(tx, 4)}{UP}"
    return [(f"{name} ", "dim"), (text, "text"), (" GB/s", "dim")]


def _traffic(net: NetworkFrame) -> float:
    return (net.rx_bytes_per_second or 0.0) + (net.tx_bytes_per_second or 0.0)
