"""The matrix of who is how far from whom, with islands, memory nodes, nearest cards and ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...probes.model.topology_frames import SELF, GpuPlace, PlacementFrame, TopologyFrame
from ...rules.job_labels import CELLS
from ..drawing import format
from ..drawing.explanations import Section, Term, drawn_terms
from ..drawing.glyphs import DASH, DOT
from ..drawing.lines import Line, LineBuilder, blank, left, plain, right
from ..drawing.missing import why_no_gpus
from ..drawing.rank_words import number_text
from ..session.view import View

_CELL = 5
_LAST_DIGITS = re.compile(r"[0-9]{1,2}$")
_MARGIN = 1
_NEAREST = "nearest card"
_ISLAND_ROLES = ("compute", "comm", "h2d", "checkpoint")
_LEVEL_ROLES = {SELF: "dim", "PIX": "good", "PXB": "text", "PHB": "text", "SYS": "warm"}
_LEGEND = "NVn NVLinks  PIX one switch  PXB switches  PHB host bridge  NODE one socket  SYS between sockets"
_SHORT_LEGEND = "NVn NVLinks PIX one switch PXB more PHB bridge NODE one socket SYS two"


def topology_note(topology: TopologyFrame | None) -> str:
    """Islands, and what sends traffic between cards up to the CPU."""
    if topology is None:
        return ""
    parts: list[str] = []
    if len(topology.islands) > 1:
        parts += [f"island {each.name}: GPU {_ranges(each.gpus)}" for each in topology.islands]
    elif topology.islands:
        island = topology.islands[0]
        over = "NVSwitch" if island.through == "switch" else "NVLink"
        parts.append(f"one {over} island of {len(island.gpus)}")
    refused = sum(peer.refused for peer in topology.peers)
    if refused:
        parts.append(f"the driver refuses NVLink to {format.counted(refused, 'pair')}")
    if topology.acs_redirects:
        count = format.counted(len(topology.acs_redirects), "bridge")
        parts.append(f"ACS sends peer traffic up at {count}")
    if topology.iommu:
        parts.append("IOMMU on")
    return f" {DOT} ".join(parts)


def topology_lines(view: View, width: int, rows: int) -> list[Line]:
    """The matrix in at most ``rows`` lines: a row a GPU; cards and a legend where there is room."""
    topology = view.frame.topology
    if topology is None or not topology.gpus:
        return _nothing(view, width)[:rows]
    lines = _gpu_lines(view, topology, width)
    cards = [*_card_lines(topology, width), *_further_lines(topology, width)]
    if len(lines) + len(cards) <= rows:
        lines += cards
    if len(lines) < rows:
        lines.append(_legend(width))
    return lines[:rows]


def whole_matrix(view: View, width: int) -> list[Line]:
    """All of it, however many lines that takes."""
    topology = view.frame.topology
    if topology is None or not topology.columns:
        return _nothing(view, width)
    return [
        *_gpu_lines(view, topology, width),
        *_card_lines(topology, width),
        *_further_lines(topology, width),
        blank(width),
        _legend(width),
    ]


def _nothing(view: View, width: int) -> list[Line]:
    """Why there is no matrix: nobody tells, or there is no GPU to tell of."""
    source = view.frame.source("topology")
    unreported = source is not None and source.status not in ("ok", "stale")
    why = source.reason if source is not None and unreported else why_no_gpus(view.frame)
    return [LineBuilder(width).gap(2).add(plain(why or "not read yet"), "dim").line()]


def _legend(width: int) -> Line:
    legend = _LEGEND if len(_LEGEND) + _MARGIN <= width else _SHORT_LEGEND
    return LineBuilder(width).gap(_MARGIN).add(legend, "dim").line()


def _gpu_lines(view: View, topology: TopologyFrame, width: int) -> list[Line]:
    columns = _columns(topology, width)
    placed = {place.gpu_index: place for place in view.frame.placements}
    return [
        _header(topology, columns, width, _rank_cells(view.job_labels)),
        *(
            _row(topology, row, gpu, placed.get(gpu.index), columns, width, view.job_labels)
            for row, gpu in enumerate(topology.gpus)
        ),
    ]


def _card_lines(topology: TopologyFrame, width: int) -> list[Line]:
    """A row a card, below those of the GPUs."""
    shown = _columns(topology, width)
    return [_card_row(topology, number, shown, width) for number in range(len(topology.nics))]


def _further_lines(topology: TopologyFrame, width: int) -> list[Line]:
    """The columns that did not fit, in tables of their own. The matrix is the same from both sides:
    rows whose distances to all of these columns have been reported are left out."""
    shown = len(_columns(topology, width))
    gpus, whole = len(topology.gpus), len(topology.columns)
    room = max(1, (width - 2 * _MARGIN - _CELL) // _CELL)
    lines: list[Line] = []
    for first in range(shown, whole, room):
        columns = range(first, min(first + room, whole))
        rows = range(shown if first < gpus else gpus, whole)
        lines.append(_matrix_header(topology, columns, width).line())
        lines += [_matrix_row(topology, row, columns, width).line() for row in rows]
    return lines


def _card_row(topology: TopologyFrame, number: int, columns: Sequence[int], width: int) -> Line:
    card = topology.nics[number]
    line = _matrix_row(topology, len(topology.gpus) + number, columns, width)
    node = DASH if card.numa_node is None else str(card.numa_node)
    line.gap(2 + 4 + 2).add(right(node, 4)).gap(2).add(plain(card.name))
    _add_cpus(line, card.cpus)
    return line.line()


def _matrix_row(
    topology: TopologyFrame, row: int, columns: Sequence[int], width: int
) -> LineBuilder:
    line = LineBuilder(width).gap(_MARGIN).add(left(_short(topology, row), _CELL), "strong")
    for column in columns:
        level = topology.levels[row][column]
        line.add(
            right(plain(level), _CELL), _LEVEL_ROLES.get(level, "dim") if level != "SYS" else "dim"
        )
    return line


def wanted_lines(topology: TopologyFrame | None) -> int:
    """How many lines it takes, the legend not counted."""
    return 1 + len(topology.gpus) if topology and topology.gpus else 1


def _columns(topology: TopologyFrame, width: int) -> Sequence[int]:
    """Those that fit beside the facts: all GPUs, then the cards, where all of them do."""
    gpus, whole = len(topology.gpus), len(topology.columns)
    facts = 44
    room = (width - 2 * _MARGIN - _CELL - facts) // _CELL
    if whole <= room:
        return range(whole)
    return range(min(gpus, max(0, (width - 2 * _MARGIN - _CELL - 20) // _CELL)))


def _header(topology: TopologyFrame, columns: Sequence[int], width: int, ranks: int) -> Line:
    line = _matrix_header(topology, columns, width)
    for title, size, ragged, _ in _FACTS:
        size = ranks if title == _RANK else size
        if len(title) + 2 > line.room:
            break
        size = min(size, line.room - 2)
        line.gap(2).add(left(title, size) if ragged else right(title, size), "dim")
    return line.line()


def _matrix_header(topology: TopologyFrame, columns: Sequence[int], width: int) -> LineBuilder:
    line = LineBuilder(width).gap(_MARGIN).add(left("", _CELL), "dim")
    for column in columns:
        line.add(right(_heading(topology, column), _CELL), "dim")
    return line


def _rank_cells(labels: Mapping[str, str]) -> int:
    """More where it must be told of which job a rank is."""
    return 4 + (CELLS + 1 if labels else 0)


class _Fact(NamedTuple):
    title: str
    size: int
    ragged: bool
    about: str


_RANK = "rank"
_FACTS = (
    _Fact(
        "island",
        6,
        True,
        "GPUs that reach each other over NVLink, directly or through NVSwitch, are one "
        "island, named A, B... Between islands traffic takes PCIe and the CPU. A dash: no NVLink is up. "
        "NVML, and what the driver allows.",
    ),
    _Fact("node", 4, False, "NUMA node: the CPU and memory that this card hangs on. sysfs."),
    _Fact(_RANK, 4, True, "Rank that runs on the GPU. Probe page, environment or command line."),
    _Fact(
        "CPUs",
        5,
        True,
        "Whether its main thread last ran on CPUs near (of its GPU's NUMA node) or far from "
        "it: far costs bandwidth and latency to the GPU. Red: it may run on far ones only, so it is bound "
        "wrongly. /proc.",
    ),
    _Fact(
        "mem near",
        8,
        False,
        "Share of its host memory that lies on its GPU's NUMA node. /proc/PID/numa_maps.",
    ),
    _Fact(
        _NEAREST,
        24,
        True,
        "Network cards at the shortest distance from the GPU, that distance, and the CPUs near "
        "the GPU. sysfs.",
    ),
)
LEVELS = (
    Term("NVn", "NVLinks between two GPUs, or of each to the switches: NV18 is 18 links. NVML."),
    Term("PIX", "Both hang on the same PCIe switch. sysfs, or the driver."),
    Term("PXB", "Several PCIe switches lie between them, without the CPU."),
    Term("PHB", "The way leads through a host bridge of the CPU."),
    Term("NODE", "It leads between host bridges of one NUMA node."),
    Term("SYS", "It leads between CPU sockets: the longest way."),
)
"""Distances, as in nvidia-smi topo -m."""


def explained(text: str) -> Section:
    """For the help: what of the matrix stands in a picture."""
    # The one whose columns are GPUs: the note above the matrix speaks of islands too.
    header = next(
        (line for line in text.splitlines() if re.search(r"\bGPU\d+\b.* island\b", line)), ""
    )
    facts = drawn_terms([Term(fact.title, fact.about) for fact in _FACTS], header)
    return Section("Topology", [*facts, *drawn_terms(LEVELS, re.sub(r"\bNV\d+\b", "NVn", text))])


def _row(
    topology: TopologyFrame,
    row: int,
    gpu: GpuPlace,
    placed: PlacementFrame | None,
    columns: Sequence[int],
    width: int,
    labels: Mapping[str, str],
) -> Line:
    line = LineBuilder(width).gap(_MARGIN).add(left(f"GPU{gpu.index}", _CELL), "strong")
    for column in columns:
        level = topology.levels[row][column]
        line.add(right(plain(level), _CELL), _role(topology, gpu, level))
    line.gap(2).add(left(gpu.island or DASH, 6), _island_role(topology, gpu.island))
    line.gap(2).add(right(DASH if gpu.numa_node is None else str(gpu.numa_node), 4))
    for text, size, role in _placed(placed, labels):
        if size + 2 > line.room:
            return line.line()
        line.gap(2).add(right(text, size) if size == 8 else left(text, size), role)
    nearest = ", ".join(map(plain, gpu.nearest_nics)) or DASH
    level = f" {gpu.nearest_level}" if gpu.nearest_level else ""
    if len(_NEAREST) + 2 > line.room:
        return line.line()
    line.gap(2).add(f"{nearest}{level}", "text")
    _add_cpus(line, gpu.cpus)
    return line.line()


def _add_cpus(line: LineBuilder, cpus: str | None) -> None:
    """Whole or not at all."""
    said = f"  CPUs {plain(cpus)}" if cpus else ""
    if len(said) <= line.room:
        line.add(said, "dim")


def _placed(
    placed: PlacementFrame | None, labels: Mapping[str, str]
) -> tuple[tuple[str, int, str], ...]:
    cells = _rank_cells(labels)
    if placed is None:
        return ((DASH, cells, "dim"), (DASH, 5, "dim"), (DASH, 8, "dim"))
    rank = DASH if placed.job_id is None else number_text(placed.rank)
    label = labels.get(placed.job_id or "")
    near = placed.runs_near
    cores = DASH if near is None else "near" if near else "far"
    bound = placed.may_run_near is False
    local = placed.local_memory_ratio
    memory = DASH if local is None else f"{format.percent(local).strip()} %"
    return (
        (f"{plain(label)} {rank}" if label else rank, cells, "text"),
        (cores, 5, "hot" if bound else "warm" if near is False else "good" if near else "dim"),
        (memory, 8, "warm" if local is not None and local < 0.5 else "text"),
    )


def _role(topology: TopologyFrame, gpu: GpuPlace, level: str) -> str:
    if level.startswith("NV") and gpu.island:
        return _island_role(topology, gpu.island)
    # Between islands the way over the CPU is what hurts; to a card of the other socket it is usual.
    role = _LEVEL_ROLES.get(level, "dim")
    return "dim" if role == "warm" and len(topology.islands) < 2 else role


def _island_role(topology: TopologyFrame, name: str | None) -> str:
    names = [island.name for island in topology.islands]
    return _ISLAND_ROLES[names.index(name) % len(_ISLAND_ROLES)] if name in names else "dim"


def _short(topology: TopologyFrame, column: int) -> str:
    """``GPU3`` stays; ``mlx5_3`` is ``NIC3``, and a card without a number goes by its place."""
    name = topology.columns[column]
    gpus = len(topology.gpus)
    if column < gpus:
        return name
    digits = _LAST_DIGITS.search(name)
    return f"NIC{digits[0] if digits else column - gpus}"[:_CELL]


def _heading(topology: TopologyFrame, column: int) -> str:
    """With a space before it: the tenth GPU is ``G10`` there."""
    name = _short(topology, column)
    digits = _LAST_DIGITS.search(name)
    return f"{name[0]}{digits[0]}" if digits and len(name) >= _CELL else name


def _ranges(indices: Sequence[int]) -> str:
    first, last = indices[0], indices[-1]
    if len(indices) > 2 and last - first + 1 == len(indices):
        return f"{first}-{last}"
    return ", ".join(map(str, indices))
