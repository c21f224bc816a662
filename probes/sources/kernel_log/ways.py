"""The ways to the kernel's log, the best first, and which of them is open here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from ..protocol import SourceAbsent, SourceDenied, SourceError
from .journal import Journal
from .kmsg import Kmsg
from .refusal import DENIED, NOWHERE
from .ring import Ring


class Way(Protocol):
    """An open log."""

    @property
    def name(self) -> str: ...
    @property
    def rest_seconds(self) -> float: ...

    def take(self) -> bytes:
        """What is new, in one of the forms of `lines`; may repeat what was read before.

        Raises:
            SourceError: it cannot be read.
        """
        ...

    def close(self) -> None: ...


def first_open(root: Path) -> tuple[Way, bytes]:
    """The first way that works, with what was in the log.

    Raises:
        SourceDenied: this user may read it by none of them.
        SourceAbsent: there is no log to be seen here.
    """
    errors = list[SourceError]()
    for make in _makers(root):
        way = None
        try:
            way = make()
            return way, way.take()
        except SourceError as error:
            errors.append(error)
            if way is not None:
                way.close()
    if any(isinstance(error, SourceDenied) for error in errors):
        raise SourceDenied(DENIED)
    raise SourceAbsent(NOWHERE)


def _makers(root: Path) -> Iterator[Callable[[], Way]]:
    yield lambda: Kmsg(root)
    if root == Path("/"):  # the others are of this machine alone
        yield Ring
        yield Journal


def open_way(root: Path = Path("/")) -> str:
    """Its name.

    Raises:
        SourceError: there is none; the reason says what would help.
    """
    way, _ = first_open(root)
    way.close()
    return way.name
