"""Making a frozen record out of the one that it extends."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Extended = TypeVar("_Extended", bound=msgspec.Struct)


def extend(kind: type[_Extended], record: msgspec.Struct, **added: Any) -> _Extended:
    """A ``kind`` with the fields of ``record``, a record of one of its bases, and those given."""
    return kind(**{**msgspec.structs.asdict(record), **added})
