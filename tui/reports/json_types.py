"""Types of public JSON: what our records are outside, made from the records and the public names."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from ...probes.model.frame import Frame
from ...probes.model.gpu_frames import GpuFrame
from ...probes.model.job_frames import JobFrame, RankFrame
from ...rules.finding import Entry, Finding, NotEvaluated
from .json_names import Changed
from .json_output import JSON_SCHEMA_VERSION, public_names

_Field = tuple[str, Any]


@cache
def public_type(record: type[msgspec.Struct], *, strict: bool = False) -> type[msgspec.Struct]:
    """What a record is in JSON: all its public fields, each of which is always there.

    Args:
        record: one of ours.
        strict: refuse fields that it does not have; programs that read it should not.
    """
    names = public_names(record)
    fields: list[_Field] = []
    for field in msgspec.structs.fields(record):
        public = names[field.name]
        if isinstance(public, Changed):
            optional = public.how == "wait" or type(None) in typing.get_args(field.type)
            fields.append((public.name, float | None if optional else float))
        elif public is not None:
            fields.append((public, _public(field.type, strict)))
    if issubclass(record, RankFrame | GpuFrame | JobFrame):
        fields.append(("ledger", _ledger(strict)))
    return _made(record.__name__, fields, record.__doc__, strict)


@cache
def line_type(what: str, *, strict: bool = False) -> type[msgspec.Struct]:
    """A line of ``gputop stream --what …``."""
    name, record, before, behind = _LINES[what]
    head: list[_Field] = [
        ("schema_version", Literal[JSON_SCHEMA_VERSION]),
        ("timestamp_seconds", float),
        ("node", str),
        *((name, kind) for name, kind in before),
    ]
    own = [
        (field.name, field.type)
        for field in msgspec.structs.fields(public_type(record, strict=strict))
        if field.name not in {name for name, _ in head}
    ]
    fields = [*head, *own, *((name, _public(kind, strict)) for name, kind in behind)]
    if record is Frame:
        fields.append(("ledger", _ledger(strict)))
    return _made(name, fields, f"A line of gputop stream --what {what}, without --fields.", strict)


def _made(name: str, fields: list[_Field], about: str | None, strict: bool) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        name,
        fields,
        namespace={"__doc__": about},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=strict,
    )


def _public(kind: Any, strict: bool) -> Any:
    """A type in which records of ours may stand."""
    if _is_record(kind):
        return public_type(kind, strict=strict)
    arguments = typing.get_args(kind)
    origin: Any = typing.get_origin(kind)
    if origin is None or origin is Literal or not arguments:
        return kind
    if origin in (dict, Mapping):
        return dict[str, _public(arguments[1], strict)]  # type: ignore[misc] # keys of JSON are text
    inner = tuple(each if each is ... else _public(each, strict) for each in arguments)
    if origin is types.UnionType or origin is typing.Union:
        return typing.Union[inner]  # noqa: UP007 - of types that are known at run time only
    return origin[inner]


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _ledger(strict: bool) -> Any:
    entry = public_type(Entry, strict=strict)
    account = _made(
        "Ledger",
        [("seen_duration_seconds", float), ("entries", dict[str, entry])],  # type: ignore[valid-type]
        "Where the time went that was seen: entries sum to it.",
        strict,
    )
    whole = _made(
        "LedgerOfWatch",
        [
            *((field.name, field.type) for field in msgspec.structs.fields(account)),
            ("since_timestamp_seconds", float | None),
            ("unseen_duration_seconds", float | None),
        ],
        "The same since the watch began.",
        strict,
    )
    windows = msgspec.defstruct(
        "Ledgers",
        [
            ("last_minute", account | msgspec.UnsetType, msgspec.UNSET),
            ("watch", whole | msgspec.UnsetType, msgspec.UNSET),
        ],
        kw_only=True,
        frozen=True,
        forbid_unknown_fields=strict,
    )
    return windows | None


_LINES: dict[str, tuple[str, type[msgspec.Struct], tuple[_Field, ...], tuple[_Field, ...]]] = {
    "frames": (
        "FrameLine",
        Frame,
        (),
        (
            ("findings", tuple[Finding, ...]),
            ("rules_not_evaluated", tuple[NotEvaluated, ...]),
        ),
    ),
    "ranks": ("RankLine", RankFrame, (("job_id", str), ("job_name", str)), ()),
    "gpus": ("GpuLine", GpuFrame, (), ()),
    "findings": ("FindingLine", Finding, (), ()),
}
"""Its name, the record, and what stands before and behind the fields of that."""
