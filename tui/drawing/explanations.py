"""What the help says of a screen: each of its terms with its meaning, unit, window and source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .columns import Layout

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
    """Those whose names stand in a picture."""
    return [term for term in terms if term.name in text]


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
