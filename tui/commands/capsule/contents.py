"""What goes into a capsule, and what does not, with the reason: its first page says both."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .... import __version__
from ...drawing import format
from ...drawing.lines import plain_text

README, MANIFEST, RECORDING = "README.txt", "manifest.json", "recording.gtop"
MANIFEST_VERSION = 1


class Part(NamedTuple):
    """One file of it."""

    name: str
    about: str
    data: bytes


class NotTaken(NamedTuple):
    """What one may miss."""

    what: str
    why: str


@dataclass
class Contents:
    """All of it. What is added is told of in the order in which it came."""

    node: str
    began_seconds: float
    """Unix time at which it was begun."""
    redacted: bool = False
    parts: list[Part] = field(default_factory=list[Part])
    not_taken: list[NotTaken] = field(default_factory=list[NotTaken])
    notes: list[str] = field(default_factory=list[str])
    """Sentences on what it is of."""

    def add(self, name: str, about: str, data: str | bytes) -> None:
        """A file: text for people is made plain, so that a terminal shows it as it is."""
        if isinstance(data, str):
            data = (plain_text(data.rstrip("\n").split("\n")) + "\n").encode()
        self.parts.append(Part(name, about, data))

    def miss(self, what: str, why: str) -> None:
        """Something is not in it."""
        self.not_taken.append(NotTaken(what, why))

    def readme(self) -> bytes:
        """The first page."""
        return (plain_text(self._lines()) + "\n").encode()

    def manifest(self) -> bytes:
        """The same for programs."""
        return json.dumps(
            {
                "schema_version": MANIFEST_VERSION,
                "program": f"gputop {__version__}",
                "node": self.node,
                "captured_timestamp_seconds": self.began_seconds,
                "redacted": self.redacted,
                "notes": self.notes,
                "files": [
                    {"name": part.name, "about": part.about, "bytes": len(part.data)}
                    for part in self.parts
                ],
                "not_taken": [missing._asdict() for missing in self.not_taken],
            },
            indent=1,
        ).encode()

    def _lines(self) -> Iterator[str]:
        moment = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(self.began_seconds))
        yield f"Evidence from {self.node}, captured {moment} by gputop {__version__}"
        yield ""
        yield from self.notes
        if self.redacted:
            yield (
                "Redacted: hosts, users, command lines and paths are replaced, the same by the same; logs "
                "and lines of the kernel log are left out."
            )
        else:
            yield (
                "What looks like a credential is masked; hosts, users, command lines and paths are in it."
            )
        yield ""
        width = max((len(part.name) for part in self.parts), default=0)
        for part in self.parts:
            size = format.quantity(float(len(part.data)), "bytes")
            yield f"{part.name:{width}}  {part.about} ({size})"
        if self.not_taken:
            yield ""
            yield "Not in it:"
            yield from (f"  {missing.what}: {missing.why}" for missing in self.not_taken)
        yield ""
        yield f"With gputop: gputop replay THIS.zip, gputop diagnose --from THIS.zip ({RECORDING} does as well)"
