"""What the help says of the main screen: panel by panel, as far as they are in the picture."""

from __future__ import annotations

from ..drawing.explanations import Section, drawn_terms
from ..drawing.lines import text_of
from ..drawing.target import Block
from ..session.view import View
from .finding_terms import LINE_TERMS
from .gpu_table import explained as gpus_explained
from .host_line import explained as host_explained
from .ledger import ledger_block
from .ledger_terms import explained as ledger_explained
from .main import draw
from .process_table import explained as processes_explained
from .process_table import table_header
from .top_line import TERMS as TOP_TERMS


def explained(view: View, width: int, height: int) -> list[Section]:
    """What the picture of that size shows."""
    block = draw(view, width, height)
    text = block.text
    sections = [gpus_explained(view, width)]
    if top := drawn_terms(TOP_TERMS, text_of(block.lines[0])):
        sections.insert(0, Section("First line", top))
    if bars := _ledger_text(view, block, width):
        sections.append(ledger_explained(bars, shaded=view.shaded, lost="lost since" in text))
    first, *others = LINE_TERMS
    some = [first] if view.judgement.active else []
    sections.append(Section("Findings", [*some, *drawn_terms(others, text)]))
    if table_header(view, width) in block.lines:
        sections.append(processes_explained(view, width))
    return [*sections, host_explained(view, width)]


def _ledger_text(view: View, block: Block, width: int) -> str:
    """The ledger's lines, in one of the lengths that it can have; empty where it is not in the picture."""
    accounts = view.judgement.minutes
    for rows in range(len(accounts), 0, -1):
        lines = ledger_block(view, accounts, width, rows).lines
        if all(line in block.lines for line in lines):
            return "\n".join(map(text_of, lines))
    return ""
