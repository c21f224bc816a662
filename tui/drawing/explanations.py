"""What the help says of a screen: each of its terms with its meaning, unit, window and source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .columns import Layout
from .glyphs import RULE

UNTITLED = "last"
"""What a column without a title is called: there is one at the most, at the right end."""


class Term(NamedTuple):
    """One thing that is on a screen."""

    name: str
    """As it is written there."""
    about: str
    """What it means, over which time, and where it is read."""


class Section(NamedTuple):
    """What one panel shows."""

    title: str
    terms: Sequence[Term]


def column_terms(layout: Layout[Any]) -> list[Term]:
    """Of the columns that are drawn at one width, in their order."""
    return [Term(column.title or UNTITLED, column.about) for column, _ in layout.columns]


def drawn_terms(terms: Iterable[Term], text: str) -> list[Term]:
    """Those whose names stand in a picture as whole words: ``loss`` is not in ``loss_fn``.

    Where the text holds names of the user's, such as those of jobs, give that part alone which cannot.
    """
    return [term for term in terms if _stands(term.name, text)]


def _stands(name: str, text: str) -> bool:
    # A sign such as ± is no part of a word that follows it.
    end = r"(?![\w-])" if name[-1:].isalnum() else ""
    return re.search(rf"(?<![\w-]){re.escape(name)}{end}", text) is not None


def panel_text(text: str, title: str) -> str:
    """Of a picture the panel of that title, up to the next one; empty where it is not drawn."""
    _, *panels = re.split(rf"^{RULE}{{2}} ", text, flags=re.MULTILINE)
    return next((panel for panel in panels if panel.startswith(f"{title} ")), "")


ANY = "..."
"""In the name of a term: what stands there differs, as in ``pid ...``."""


def fact_terms(groups: Mapping[str, Sequence[Term]], text: str) -> list[Term]:
    """Of the groups of facts in a picture those terms that are in it, too."""
    return [
        term
        for title, terms in groups.items()
        if f"{title}\n" in text or f"{title} " in text
        for term in terms
        if term.name.removesuffix(ANY) in text or term.name.startswith(ANY)
    ]
