"""Walks public JSON: its keys by path, and what a name promises about its value."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from gputop.probes.model.frame import Frame
from gputop.rules.finding import Finding, NotEvaluated
from gputop.tui.commands.diagnose import Report
from gputop.tui.commands.doctor import Findings
from gputop.tui.reports.comparison.comparison import Comparison
from gputop.tui.reports.json_names import Changed
from gputop.tui.reports.json_output import public_names

FREE = re.compile(
    r"missing|ledger_ratios|environment|instruments|hooks|entries|phase_samples|memory_bytes|memory_by_numa_node_bytes"
    r"|counters.*|(gpu_)?phase(s|_ratios|_seconds|_duration_seconds)(_.*)?"
)
"""Objects whose keys are names of somebody else: phases, variables, the kernel's counters."""

Leaf = tuple[str, str, object]


def walk(value: object, path: str = "") -> Iterator[Leaf]:
    """Path, key and value of each field, objects and lists included; ``gpus[].nvlinks[].rx_bytes``."""
    if isinstance(value, dict):
        pairs: dict[str, Any] = value
        for key, each in pairs.items():
            here = f"{path}.{key}" if path else key
            yield here, key, each
            if not (isinstance(each, dict) and FREE.fullmatch(key)):
                yield from walk(each, here)
    elif isinstance(value, list):
        items: list[Any] = value
        for each in items:
            yield from walk(each, f"{path}[]")


def kind_of(value: object) -> str:
    """JSON's type, with what a list is of."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            items: list[Any] = value
            return f"list of {kind_of(items[0])}" if items else "empty list"
        case _:
            return "object"


def public_list() -> list[str]:
    """``Record.name`` of each field that any command prints of our records."""
    records: dict[type[msgspec.Struct], None] = {}
    for kind in (Frame, Finding, NotEvaluated, Report, Findings, Comparison):
        _gather(kind, records)
    return sorted(
        {
            f"{record.__name__}.{public.name if isinstance(public, Changed) else public}"
            for record in records
            for public in public_names(record).values()
            if public is not None
        }
    )


def _gather(kind: Any, records: dict[type[msgspec.Struct], None]) -> None:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        for each in typing.get_args(kind):
            _gather(each, records)
    elif kind not in records:
        records[kind] = None
        public = public_names(kind)
        for field in msgspec.structs.fields(kind):
            if public[field.name] is not None:
                _gather(field.type, records)


if __name__ == "__main__":
    print(*public_list(), sep="\n")
