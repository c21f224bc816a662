"""The single NVLinks of one GPU: where each leads to, what it carries, and what it has suffered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame, NvlinkFrame
from ...probes.model.pci_address import normal_bus_id
from ..drawing import format
from ..drawing.bars import gauge
from ..drawing.columns import Column, Layout, Spans, lay_out
from ..drawing.explanations import Section, column_terms
from ..drawing.glyphs import DASH, DOT, DOWN, UP
from ..drawing.lines import Line, LineBuilder, left, plain, right
from .link_cells import NEARLY_FULL, share_of

_STATES = {True: ("up", "good"), False: ("down", "hot"), None: (DASH, "dim")}


class NvlinkRow(msgspec.Struct, frozen=True):
    """What a row shows."""

    link: NvlinkFrame
    end: str
    """Where it leads to."""


def nvlink_note(gpu: GpuFrame) -> str:
    """Which GPU, and how many of its links are up."""
    links = gpu.nvlinks or ()
    up = sum(bool(link.active) for link in links)
    parts = [f"GPU {gpu.index}"]
    if links:
        parts += [f"{up} of {len(links)} up", "rates are means of some seconds"]
    return f" {DOT} ".join(parts)


def nvlink_lines(frame: Frame, gpu: GpuFrame, width: int, rows: int) -> list[Line]:
    """The titles and a row a link, those that are down first where not all fit."""
    if not gpu.nvlinks:
        why = "has no NVLink" if gpu.nvlinks == () else gpu.missing.get("nvlinks", "not read yet")
        return [LineBuilder(width).gap(2).add(f"GPU {gpu.index}: {plain(why)}", "dim").line()][
            :rows
        ]
    links = list(gpu.nvlinks)
    if len(links) > rows - 1:
        links.sort(key=lambda link: link.active is not False)
    layout = layout_at(width)
    ends = dict(_gpus(frame))
    shown = [NvlinkRow(link, _end(link, ends)) for link in links[: max(0, rows - 1)]]
    return [layout.header, *map(layout.line, shown)][:rows]


def _gpus(frame: Frame) -> Iterator[tuple[str, int]]:
    for gpu in frame.gpus:
        if bus_id := normal_bus_id(gpu.pci_bus_id):
            yield bus_id, gpu.index


def _end(link: NvlinkFrame, gpus: dict[str, int]) -> str:
    bus_id = normal_bus_id(link.remote_pci_bus_id)
    if bus_id in gpus:
        return f"GPU {gpus[bus_id]}"
    return plain(" ".join(filter(None, (link.remote, bus_id)))) or DASH


def _number(row: NvlinkRow, width: int) -> Spans:
    return [(right(str(row.link.link), width), "strong")]


def _state(row: NvlinkRow, width: int) -> Spans:
    word, role = _STATES[row.link.active]
    return [(left(word, width), role)]


def _version(row: NvlinkRow, width: int) -> Spans:
    return [(right(DASH if row.link.version is None else str(row.link.version), width), "dim")]


def _to(row: NvlinkRow, width: int) -> Spans:
    return [(left(row.end, width), "text")]


def _bar(row: NvlinkRow, rate: float | None, width: int) -> Spans:
    share = share_of(rate, row.link.speed_bytes_per_second)
    return gauge(share, width, "warm" if (share or 0.0) >= NEARLY_FULL else "gauge")


def _in(row: NvlinkRow, width: int) -> Spans:
    return _bar(row, row.link.rx_bytes_per_second, width)


def _out(row: NvlinkRow, width: int) -> Spans:
    return _bar(row, row.link.tx_bytes_per_second, width)


def _rx(row: NvlinkRow, width: int) -> Spans:
    return [(f"{format.rate(row.link.rx_bytes_per_second, width - 1)}{DOWN}", "text")]


def _tx(row: NvlinkRow, width: int) -> Spans:
    return [(f"{format.rate(row.link.tx_bytes_per_second, width - 1)}{UP}", "text")]


def _limit(row: NvlinkRow, width: int) -> Spans:
    return [(format.rate(row.link.speed_bytes_per_second, width), "dim")]


def _errors(since_start: int, counter: int | None, width: int) -> Spans:
    """Since this monitor came; a dash where the driver does not count them."""
    number = None if counter is None and not since_start else float(since_start)
    return [(format.number(number, width), "warm" if since_start else "dim")]


def _crc(row: NvlinkRow, width: int) -> Spans:
    return _errors(row.link.crc_errors_since_start, row.link.crc_errors, width)


def _replays(row: NvlinkRow, width: int) -> Spans:
    return _errors(row.link.replay_errors_since_start, row.link.replay_errors, width)


def _recoveries(row: NvlinkRow, width: int) -> Spans:
    return _errors(row.link.recovery_errors_since_start, row.link.recovery_errors, width)


_COLUMNS: tuple[Column[NvlinkRow], ...] = (
    Column("link", 4, _number, "Number of the NVLink on this GPU."),
    Column(
        "state",
        5,
        _state,
        "Now: up or down. A link that sleeps to save power is up. NVML.",
        ragged=True,
    ),
    Column("gen", 3, _version, "NVLink generation, as NVML numbers it.", rank=3),
    Column(
        "leads to",
        19,
        _to,
        "What is at the other end: a GPU, or an NVSwitch with its PCI address. NVML.",
        rank=1,
        most=24,
        ragged=True,
    ),
    Column(
        "in",
        8,
        _in,
        "Bytes received, as a share of the limit: a bar, colored from 85 % on.",
        rank=4,
        most=30,
        ragged=True,
    ),
    Column(
        "GB/s",
        6,
        _rx,
        "Bytes received (↓) in GB/s, mean over the few seconds between two readings. NVML.",
    ),
    Column(
        "out",
        8,
        _out,
        "Bytes sent, as a share of the limit: a bar, colored from 85 % on.",
        rank=5,
        most=30,
        ragged=True,
    ),
    Column(
        "GB/s",
        6,
        _tx,
        "Bytes sent (↑) in GB/s, mean over the few seconds between two readings. NVML.",
    ),
    Column("limit", 5, _limit, "What the link can carry in one direction, in GB/s. NVML.", rank=2),
    Column(
        "CRC",
        6,
        _crc,
        "Packets that arrived with a wrong checksum, since this monitor first saw the link; a dash: "
        "the driver does not count them. NVML.",
    ),
    Column(
        "replay",
        6,
        _replays,
        "Packets retransmitted after an error, since this monitor first saw the link; a dash: the driver"
        " does not count them. NVML.",
    ),
    Column(
        "recov",
        6,
        _recoveries,
        "Times the link had to be trained anew, since this monitor first saw the link; a dash: the "
        "driver does not count them. NVML.",
    ),
)


def explained(width: int) -> Section:
    """For the help: the columns at this width."""
    return Section("NVLinks of one GPU", column_terms(layout_at(width)))


@lru_cache(8)
def layout_at(width: int) -> Layout[NvlinkRow]:
    """The columns that fit in so many cells."""
    return lay_out(_COLUMNS, width)
