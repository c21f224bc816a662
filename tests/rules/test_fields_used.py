"""What is read is drawn or judged: every field of the records is used by somebody beside JSON, or stands here with why."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import msgspec

from gputop.probes import model
from gputop.probes.model.signals import SIGNALS

ROOT = Path(model.__file__).parents[2]
SHOWN = ("rules", "tui")
WORKED_OUT = tuple(
    f"probes/{name}"
    for name in ("derive", "jobs", "attribution", "collector", "scheduling", "recording", "feeds")
)
"""What is made of readings: a counter is used where its rate is."""
PRINTED = frozenset({"json_names.py", "json_output.py"})
"""They print all there is, so that they use nothing."""

REASONS = {
    "Frame.rank_histories": "asked for one by one: Frame.rank_history",
    "Frame.worker_histories": "asked for one by one: Frame.worker_history",
    "Frame.pending_exits": "what the next frame looks back on: they become exited_ranks",
    "GpuFrame.ecc_uncorrected_at_start": "what ecc_uncorrected_since_start is counted from",
    "GpuPlace.bus_id": "the same as the GPU's pci_bus_id, which is drawn",
    "NicPlace.bus_id": "the same as the port's pci_bus_id, which is drawn",
    "RankFrame.probe_overhead_ratio": "the same as the probe's overhead_ratio, which is drawn",
    "DriverReading.gpu_count": "of the driver's test of itself: the GPUs are counted by their readings",
    "WaitReading.switches": "for whoever reads a recording: that it had not woken up meanwhile",
    "Signal.kept": "read by the table itself",
}
"""Field → why nobody needs to see it."""


def records() -> Iterator[type[msgspec.Struct]]:
    """Every record of the model, in its own module."""
    for found in pkgutil.iter_modules(model.__path__):
        module = import_module(f"{model.__name__}.{found.name}")
        for kind in vars(module).values():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__:
                continue
            if issubclass(kind, msgspec.Struct):
                yield kind


def own_fields(kind: type[msgspec.Struct]) -> list[str]:
    """Without those of the record that it extends."""
    return [name for name in kind.__struct_fields__ if name in inspect.get_annotations(kind)]


def asked_for(folders: Iterable[str]) -> set[str]:
    """Names of attributes that are read, and names in lists by which attributes are read."""
    found: set[str] = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            if path.name not in PRINTED:
                found |= _asked_in(ast.parse(path.read_text(encoding="utf-8")))
    return found


def _asked_in(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "attrgetter"):
            found |= _texts(node.args)
        elif isinstance(node, ast.Tuple | ast.List):
            found |= _texts(node.elts)
        elif isinstance(node, ast.Dict):  # such as rate → counter
            found |= _texts(node.values)
    return found


def _texts(nodes: Iterable[ast.expr]) -> set[str]:
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def unused() -> set[str]:
    """Fields that nobody asks for, as ``Record.name``."""
    in_table = {each.name for each in SIGNALS if each.kept or each.fact or each.chart}
    shown = asked_for(SHOWN) | in_table
    made_of = shown | asked_for(WORKED_OUT)
    return {
        f"{kind.__name__}.{name}"
        for kind in records()
        for name in own_fields(kind)
        # A reading may be worked into something else; a frame is what comes of that.
        if name not in (made_of if _is_read(kind) else shown)
    }


def _is_read(kind: type[msgspec.Struct]) -> bool:
    return kind.__name__.endswith(("Reading", "Sample")) or kind.__name__ in INSIDE


INSIDE = frozenset(
    {
        "PciPlace",
        "NumaNode",
        "RankHistory",
        "WorkerHistory",
        "PhaseMark",
        "StepFigures",
        "Starvation",
    }
)
"""Parts of readings, and what one frame remembers for the next."""


def test_every_field_is_used_or_has_a_reason() -> None:
    assert unused() - REASONS.keys() == set()


def test_reasons_are_of_fields_that_need_them() -> None:
    assert REASONS.keys() - unused() == set()


def test_the_search_finds_what_nobody_uses() -> None:
    tree = ast.parse(
        'limit["alone"]\nx = {"alone": 1}\na.used\ngetattr(a, "named")\nF = ("listed",)\n'
    )
    assert _asked_in(tree) == {"used", "named", "listed"}
