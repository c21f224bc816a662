"""What one part of the check says, line by line, so that a part cut off has said what it had."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

Kind = Literal["text", "failure", "skipped", "ended"]


class Said(NamedTuple):
    """One entry of a part."""

    kind: Kind
    text: str


class Section:
    """A part writes to it while it runs."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def text(self, markdown: str) -> None:
        """For the report."""
        self._say("text", markdown)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Rows for the report, none of whose cells can break the table."""
        lines = [_row(head), _row(["---"] * len(head)), *(_row(row) for row in rows)]
        self.text("\n".join(lines))

    def block(self, text: str) -> None:
        """As it is, in one kind of letters."""
        self.text(f"````text\n{text}\n````")

    def failure(self, sentence: str) -> None:
        """What is not as it should be, and why."""
        self._say("failure", sentence)

    def skipped(self, sentence: str) -> None:
        """What could not be tried here."""
        self._say("skipped", sentence)

    def ended(self) -> None:
        """The part has come to its end."""
        self._say("ended", "")

    def _say(self, kind: Kind, text: str) -> None:
        self._file.write(json.dumps(Said(kind, text)) + "\n")
        self._file.flush()


def read(path: Path) -> list[Said]:
    """All that a part has said; the last line may be cut off."""
    said: list[Said] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            said.append(Said(*json.loads(line)))
        except ValueError:
            break
    return said


def _row(cells: Sequence[object]) -> str:
    plain = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(plain)} |"
