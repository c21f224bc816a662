"""Links as rows: what each carries against what it could, both ways, and what it has suffered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import msgspec

from ...probes.model.link_frames import LinkFrame, LinkKind
from ...rules.finding import Finding
from ...rules.history import History
from ...rules.series import Series
from ..drawing import format
from ..drawing.bars import gauge, sparkline
from ..drawing.columns import Column, Layout, Spans, chosen_line, lay_out
from ..drawing.explanations import Section, column_terms
from ..drawing.finding_words import name_within
from ..drawing.glyphs import DASH, DOWN, UP
from ..drawing.lines import Line, left, plain, right
from ..drawing.severity_marks import severity_mark
from ..drawing.target import Block, Target, link_target
from ..session.view import View, window
from .link_cells import NEARLY_FULL, share_of

SAMPLES_PER_CELL = 4
_WAITS = 0.10
_GOOD_STATES = ("up",)
_KINDS: dict[LinkKind, str] = {
    "pcie": "PCIe",
    "nvlink": "NVLink",
    "infiniband": "IB",
    "roce": "RoCE",
    "rdma": "RDMA",
    "ethernet": "Ether",
}


class LinkRow(msgspec.Struct, frozen=True):
    """What a row shows."""

    link: LinkFrame
    finding: Finding | None
    past: Callable[[int], Sequence[float | None]] = lambda _: ()
    """For a number of cells: the busier direction over the limit, oldest first. Where there is no
    limit, over the most of that time."""


Cell = Callable[[LinkRow, int], Spans]


def links_of(view: View) -> list[LinkFrame]:
    """The links that the filter lets through, those in trouble first, else in their order."""
    found = [
        link
        for link in view.frame.links
        if view.lets(link.id, _KINDS[link.kind], link.device or "", link.state or "")
    ]
    worst = _findings(view)
    return sorted(found, key=lambda link: link.id not in worst)


def link_rows(view: View, width: int, rows: int) -> Block:
    """The titles, and as many links as fit in ``rows`` lines with them."""
    links = links_of(view)
    layout = layout_at(width)
    room = max(0, rows - 1)
    chosen = view.selected.id if view.selected and view.selected.kind == "link" else None
    at = next((at for at, link in enumerate(links) if link.id == chosen), None)
    first = window(len(links), room, at)
    worst = _findings(view)
    lines: list[Line] = [layout.header]
    targets: list[Target | None] = [None]
    for link in links[first : first + room]:
        row = LinkRow(link, worst.get(link.id), partial(_past, view, link))
        lines.append(chosen_line(layout.line(row), link.id == chosen))
        targets.append(link_target(link.id))
    return Block(lines, targets)


def hidden_note(view: View, rows: int) -> str:
    """How many links are out of sight."""
    count = len(links_of(view))
    return f"{rows - 1} of {count}" if count > rows - 1 else ""


def _findings(view: View) -> dict[str, Finding]:
    """Link → the most urgent finding about it."""
    found: dict[str, Finding] = {}
    for finding in view.judgement.active:
        if finding.subject.kind == "link":
            found.setdefault(finding.subject.id, finding)
    return found


def _past(view: View, link: LinkFrame, cells: int) -> list[float | None]:
    rx, tx = (
        _series(view.history, link, way).blocks(SAMPLES_PER_CELL, cells) for way in ("rx", "tx")
    )
    means = [_busier(one, two) for one, two in zip(rx, tx, strict=False)]
    most = max((mean for mean in means if mean is not None), default=0.0)
    limit = link.limit_bytes_per_second or most
    return [None if mean is None or not limit else mean / limit for mean in means]


def _busier(one: float | None, two: float | None) -> float | None:
    known = [value for value in (one, two) if value is not None]
    return max(known) if known else None


def _series(history: History, link: LinkFrame, way: str) -> Series:
    if link.kind in ("pcie", "nvlink") and link.gpu_index is not None:
        return history.gpu(link.gpu_index, f"{link.kind}_{way}_bytes_per_second")
    if link.kind in ("infiniband", "roce", "rdma"):
        device, _, port = link.id.rpartition("/")
        return history.port(device, int(port), f"{way}_bytes_per_second")
    return history.network(link.id, f"{way}_bytes_per_second")


def _name(row: LinkRow, width: int) -> Spans:
    link = row.link
    name = f"GPU {link.gpu_index}" if link.gpu_index is not None else plain(link.id)
    return [(left(name, width), "strong")]


def _kind(row: LinkRow, width: int) -> Spans:
    return [(left(_KINDS[row.link.kind], width), "dim")]


def _state(row: LinkRow, width: int) -> Spans:
    link = row.link
    state = plain(link.state or DASH)
    if link.kind == "pcie":  # reported in numbers: whether they are good, depends on card and slot
        return [(left(state, width), "warm" if row.finding else "text")]
    bad = link.state is not None and link.state not in _GOOD_STATES
    return [(left(state, width), "hot" if bad else "good")]


def _rate(way: str, arrow: str) -> Cell:
    def cell(row: LinkRow, width: int) -> Spans:
        value = getattr(row.link, f"{way}_bytes_per_second")
        role = "warm" if (_share(row.link, value) or 0.0) >= NEARLY_FULL else "text"
        return [(right(f"{format.rate(value, width - 1)}{arrow}", width), role)]

    return cell


def _bar(way: str) -> Cell:
    def cell(row: LinkRow, width: int) -> Spans:
        share = _share(row.link, getattr(row.link, f"{way}_bytes_per_second"))
        full = share is not None and share >= NEARLY_FULL
        return list(gauge(share, width, "warm" if full else "gauge"))

    return cell


def _percent(way: str) -> Cell:
    def cell(row: LinkRow, width: int) -> Spans:
        share = _share(row.link, getattr(row.link, f"{way}_bytes_per_second"))
        return [(format.percent(share, width), "dim")]

    return cell


def _limit(row: LinkRow, width: int) -> Spans:
    return [(format.rate(row.link.limit_bytes_per_second, width), "dim")]


def _history(row: LinkRow, width: int) -> Spans:
    role = "spark" if row.link.limit_bytes_per_second else "dim"
    return [(sparkline(row.past(width), width, 1.0), role)]


def _wait(row: LinkRow, width: int) -> Spans:
    wait = row.link.wait_ratio
    if row.link.kind not in ("infiniband", "roce", "rdma"):
        return [(" " * width, "text")]
    if wait is None and "full" in row.link.missing.get("wait_ratio", ""):
        return [(right("full", width), "dim")]
    role = "warm" if wait is not None and wait >= _WAITS else "text"
    return [(format.percent(wait, width), role)]


def _errors(row: LinkRow, width: int) -> Spans:
    errors = row.link.errors_since_start
    role = "warm" if errors else "dim"
    return [(format.number(None if errors is None else float(errors), width), role)]


def _note(row: LinkRow, width: int) -> Spans:
    if row.finding is None:
        return [(" " * width, "text")]
    mark, role = severity_mark(row.finding.severity)
    room = max(0, width - 2)
    name = name_within(row.finding, room)
    return [(f"{mark} "[:width], role), (left(name, room), role)]


def _share(link: LinkFrame, rate: float | None) -> float | None:
    return share_of(rate, link.limit_bytes_per_second)


_COLUMNS: tuple[Column[LinkRow], ...] = (
    Column(
        "link",
        8,
        _name,
        "A GPU (its PCIe or NVLink), a port of a network card, or a network interface.",
        most=14,
        ragged=True,
    ),
    Column(
        "kind",
        6,
        _kind,
        "PCIe, NVLink (all links of the GPU together), IB (InfiniBand), RoCE (RDMA over Ethernet), "
        "Ether (TCP/IP).",
        rank=2,
        ragged=True,
    ),
    Column(
        "state",
        9,
        _state,
        "Now: up, or what is wrong with it; for PCIe the generation and lanes that it is trained to, "
        "for NVLink how many links are up. NVML, /sys.",
        most=14,
        ragged=True,
    ),
    Column(
        "in",
        8,
        _bar("rx"),
        "Bytes received, as a share of the limit: a bar, colored from 85 % on. For a GPU: into it.",
        rank=1,
        most=24,
        ragged=True,
    ),
    Column("%", 3, _percent("rx"), "The same share in %.", rank=4),
    Column(
        "GB/s",
        6,
        _rate("rx", DOWN),
        "Bytes received (↓) in GB/s, mean since the last sample. PCIe and NVLink: NVML or GPM; ports:"
        " /sys/class/infiniband; networks: /proc/net/dev.",
    ),
    Column(
        "out",
        8,
        _bar("tx"),
        "Bytes sent, as a share of the limit: a bar, colored from 85 % on. For a GPU: out of it.",
        rank=3,
        most=24,
        ragged=True,
    ),
    Column("%", 3, _percent("tx"), "The same share in %.", rank=5),
    Column(
        "GB/s",
        6,
        _rate("tx", UP),
        "Bytes sent (↑) in GB/s, mean since the last sample. PCIe and NVLink: NVML or GPM; ports: "
        "/sys/class/infiniband; networks: /proc/net/dev.",
    ),
    Column(
        "limit",
        5,
        _limit,
        "What it can carry in one direction as it is trained now, in GB/s. NVML, /sys.",
    ),
    Column(
        "history",
        12,
        _history,
        "The busier direction over the limit (dim: over the most in that time), newest at the "
        "right; each cell is the mean of 4 samples. From the same counters.",
        rank=7,
        most=40,
        ragged=True,
    ),
    Column(
        "wait%",
        5,
        _wait,
        "Share of the time in which the port had data to send and no credit from the switch to send "
        "it: congestion. Mean since the last sample; the port counter port_xmit_wait. full: that "
        "counter is saturated.",
        rank=6,
    ),
    Column(
        "errors",
        6,
        _errors,
        "Errors of kinds that a healthy link does not have, counted since this monitor first saw the "
        "link. NVML, /sys.",
    ),
    Column(
        "",
        16,
        _note,
        "The worst finding about this link, in short; key 6 tells it in full.",
        most=30,
        ragged=True,
    ),
)


def explained(width: int) -> Section:
    """For the help: the columns at this width."""
    return Section("Links", column_terms(layout_at(width)))


@lru_cache(8)
def layout_at(width: int) -> Layout[LinkRow]:
    """The columns that fit in so many cells."""
    return lay_out(_COLUMNS, width)
