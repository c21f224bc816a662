"""TCP of the host on one line: what it sends, and how much of that it has to send again."""

from __future__ import annotations

from ...rules.finding import Finding
from ..drawing import format
from ..drawing.bars import sparkline
from ..drawing.columns import MARGIN
from ..drawing.explanations import Term
from ..drawing.glyphs import DOT
from ..drawing.lines import Line, LineBuilder, plain
from ..drawing.severity_marks import severity_mark
from ..session.view import View

_RULE = "LNK513"
_SAMPLES_PER_CELL = 4
_PAST_CELLS = 24
_WORTH_SHOWING = 0.01
TERMS = (
    Term(
        "sends",
        "TCP segments a second that the host sends for the first time, since the last sample. /proc/net/snmp.",
    ),
    Term(
        "retransmitted",
        "Share of the TCP segments that the host had to send again: loss on its networks. Since the last "
        "sample, then its past in cells of 4 samples. /proc/net/snmp.",
    ),
)


def tcp_line(view: View, width: int) -> Line:
    """Segments a second, the share retransmitted with its past, and what was found about it."""
    line = LineBuilder(width).gap(MARGIN).add("TCP", "strong").gap(2)
    host = view.frame.host
    if host is None:
        return line.add("the host is not read", "dim").line()
    if host.tcp_sent_segments is None:
        why = host.missing.get("tcp_sent_segments", "not read yet")
        return line.add(plain(why), "dim").line()
    found = _finding(view)
    line.add("sends ", "dim").add(format.compact(host.tcp_segments_per_second))
    line.add(f" segments/s {DOT} retransmitted ", "dim")
    share = host.tcp_retransmission_ratio
    percent = format.number(None if share is None else share * 100.0, 5, 2)
    line.add(percent, "warm" if found else "text").add(" % ", "dim")
    line.add(_past(view), "spark").gap()
    if found is not None:
        mark, role = severity_mark(found.severity)
        line.add(f"{mark} {found.name}", role)
    return line.line()


def _finding(view: View) -> Finding | None:
    return next((each for each in view.judgement.active if each.id == _RULE), None)


def _past(view: View) -> str:
    """Against the least that matters, or the worst of it where that is more."""
    series = view.history.host("tcp_retransmission_ratio")
    means = series.blocks(_SAMPLES_PER_CELL, _PAST_CELLS)
    top = max((value for value in means if value is not None), default=0.0)
    return sparkline(means, _PAST_CELLS, max(top, _WORTH_SHOWING))
