"""What the help says of the ledger: where the time of each rank went."""

from __future__ import annotations

from ...rules.account.entries import ENTRIES
from ..drawing.explanations import Section, Term
from ..drawing.glyphs import BLOCK
from .ledger import letter_of

_ORIGINS = (
    Term(
        "measured",
        "How the shares are known: the probe in the process has written down each phase.",
    ),
    Term(
        "sampled",
        "How the shares are known: from stacks that py-spy took (they tell of the host, not of the GPU).",
    ),
    Term(
        "inferred",
        "How the shares are known: worked out, from threads in /proc, or by taking waits for a late "
        "rank out of the backward.",
    ),
)


_LOST = Term(
    "lost since",
    "What the time of all GPUs of this node went to besides computing since gputop began to watch: a GPU that "
    "computes while its host waits has lost nothing. Where no probe tells what the host did it is made "
    "from utilization, SM activity, power and stacks, and the rest is unexplained.",
)


def explained(text: str, *, shaded: bool, lost: bool = False) -> Section:
    """The shares and origins that stand in a picture; the bar has letters where there are no colors.

    Args:
        text: the ledger's lines.
        shaded: the bars are drawn in letters.
        lost: the line of what was lost stands above or below them.
    """
    bar = Term(
        f"r0 {letter_of('compute') if shaded else BLOCK}",
        "A bar a rank: the phases' shares of the host time in the last 60 s, or of what has been seen"
        " of it. Ranks "
        "that differ little share a line where there is little room.",
    )
    shares = [
        Term(f"{letter_of(name)} {name}" if shaded else name, kind.about)
        for name, kind in ENTRIES.items()
        if f"{name} " in text
    ]
    return Section(
        "Where the time went",
        [
            bar,
            *shares,
            *(term for term in _ORIGINS if term.name in text),
            *([_LOST] if lost else []),
        ],
    )
