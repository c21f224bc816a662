"""What fails today, as ``known.toml`` says: shown, and held to strictly, so that nobody forgets it there."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("known.toml")


@dataclass(frozen=True)
class Known:
    """Case → mode (``probe`` or ``bare``) → why it fails."""

    reasons: dict[str, dict[str, str]]

    def reason(self, case: str, mode: str) -> str:
        """Empty where it should be right."""
        return self.reasons.get(case, {}).get(mode, "")


def known() -> Known:
    """Of the file beside this."""
    return Known(tomllib.loads(FILE.read_text()))
