"""How bad something is, as a glyph and a role."""

from __future__ import annotations

from ...rules.finding import Severity
from .glyphs import ERROR, INFO, WARNING

_MARKS: dict[Severity, tuple[str, str]] = {
    "error": (ERROR, "error"),
    "warning": (WARNING, "warning"),
    "info": (INFO, "info"),
}


def severity_mark(severity: Severity) -> tuple[str, str]:
    """Glyph and role of a severity."""
    return _MARKS[severity]
