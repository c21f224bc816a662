"""The registry of sources: every source has a line, every line is true, and nothing else comes in."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from gputop.probes.collector import registry
from gputop.probes.collector.collector import FIELDS, Collector
from gputop.probes.collector.registry import LINES, Line, chosen, make, names
from gputop.probes.model.host_readings import CgroupReading, HostReading
from gputop.probes.model.sample import Sample
from gputop.probes.sources.context import Context
from gputop.probes.sources.protocol import Part, Source
from gputop.probes.sources.stack_requests import StackRequests
from gputop.probes.sources.watchlist import Watchlist
from gputop.tui.arguments import parse
from gputop.tui.console.errors import UsageError

SOURCES_PACKAGE = f"{registry.__name__.rsplit('.', 2)[0]}.sources"
SOURCES = Path(registry.__file__).parents[1] / "sources"
each_line = pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)


def context() -> Context:
    return Context(Watchlist(), StackRequests(), lambda _: None)


def has(body: list[ast.stmt], name: str) -> bool:
    """Whether a class defines a method, a property or an attribute of that name."""
    for each in body:
        if isinstance(each, ast.FunctionDef) and each.name == name:
            return True
        if isinstance(each, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in each.targets
        ):
            return True
    return False


def sources() -> Iterator[tuple[str, str]]:
    """Module below ``sources`` and name of each class that can be asked again and again."""
    for path in sorted(SOURCES.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ClassDef) or module == "protocol":
                continue
            if all(has(node.body, name) for name in ("name", "read", "close")):
                yield module, node.name


def kinds_read(source: type[Any]) -> set[type]:
    """The types of readings that its ``read`` declares."""
    kinds: set[type] = set()
    for each in get_args(get_type_hints(source.read)["return"]):
        kinds |= set(get_args(each)) if isinstance(each, UnionType) else {each}
    return {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}


def kinds_of(line: Line) -> set[type]:
    return {Sample.__annotations__[field].__args__[0] for field in line.fills}


def test_every_source_has_a_line() -> None:
    found = list(sources())
    assert len(found) >= len(LINES)
    made_in = {line.factory.partition(":")[0] for line in LINES}
    # What NVML finds, its driver adds under its own line.
    lacking = {f"{module}:{name}" for module, name in found if module not in made_in}
    assert {each for each in lacking if not each.startswith("nvml.")} == set()


@each_line
def test_a_line_is_true_of_its_source(line: Line) -> None:
    source = make(line, context())
    assert source.name == line.name
    folder, _, module = line.factory.partition(":")[0].rpartition(".")
    own = [source_name for place, source_name in sources() if place == f"{folder}.{module}"]
    assert type(source).__name__ in own
    kinds = kinds_read(type(source))
    if folder == "nvml":
        for place, name in sources():
            if place.startswith("nvml."):
                kinds |= kinds_read(getattr(import_module(f"gputop.probes.sources.{place}"), name))
    assert kinds == kinds_of(line)
    source.close()


def test_every_field_that_is_no_status_is_filled_by_one_line() -> None:
    filled = [field for line in LINES for field in line.fills]
    assert len(filled) == len(set(filled))
    parts = [
        field
        for field, annotation in Sample.__annotations__.items()
        if issubclass(getattr(annotation, "__args__", [int])[0], msgspec.Struct)
    ]
    assert sorted(filled) == sorted(set(parts) - {"sources", "starvation"})


def test_what_is_left_out_is_named_by_a_line_of_its_own() -> None:
    assert set(names()) <= {line.name for line in LINES}
    assert names()[:3] == ("nvml", "processes", "host")
    lines = [*chosen(first=True, without=frozenset({"processes"}))]
    lines += chosen(first=False, without=frozenset({"processes"}))
    assert {line.name for line in LINES} - {line.name for line in lines} == {
        "processes",
        "threads",
        "limits",
        "mounts",
        "stacks",
        "waits",
        "nccl ras",
    }


def test_the_command_line_takes_these_names() -> None:
    for name in names():
        assert parse(["collect", "--without", name]).without == [name]
    with pytest.raises(UsageError, match="did you mean infiniband"):
        parse(["collect", "--without", "infinband"])


@pytest.mark.parametrize(
    "module", ["gputop.tui.arguments", "gputop.probes.collector.registry"], ids=["tui", "registry"]
)
def test_naming_sources_loads_none(module: str) -> None:
    code = f"import {module}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    assert [name for name in loaded if name.startswith("gputop.probes.sources")] == []


def test_what_is_late_is_not_loaded_for_the_first_picture() -> None:
    code = (
        "import sys\n"
        "from gputop.probes.collector import main\n"
        "from gputop.probes.collector.registry import chosen, make\n"
        "from gputop.probes.sources.context import Context\n"
        "context = Context(main.Watchlist(), main.StackRequests(), print)\n"
        "lines = chosen(first=True, without=frozenset())\n"
        "print([make(line, context).name for line in lines], *sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("['nvml', 'processes', 'host']")
    late = {
        f"gputop.probes.sources.{line.factory.partition(':')[0]}"
        for line in LINES
        if not line.first
    }
    assert late & set(done.stdout.split()) == set()


class Straying:
    """Gives a reading of its own kind, and one of a kind that its line does not name."""

    name = "straying"

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def read(self) -> tuple[Part, ...]:
        return self.parts

    def close(self) -> None: ...


class Unheard(msgspec.Struct):
    """A reading that the sample has no field for."""


def first_sample(source: Source, fills: tuple[str, ...]) -> Sample:
    collector = Collector("node", interval_seconds=0.2)
    collector.add(source, fills)
    return next(collector.samples())


GROUP = CgroupReading(path="/job", version=2, monotonic_seconds=1.0)


@pytest.mark.parametrize(
    "stray", [HostReading(monotonic_seconds=1.0), Unheard()], ids=["another's", "unheard of"]
)
def test_a_reading_that_no_line_names_is_refused_with_a_sentence(stray: Part) -> None:
    sample = first_sample(Straying(GROUP, stray), ("cgroups",))
    (status,) = sample.sources
    assert (status.status, sample.cgroups, sample.host) == ("failed", (GROUP,), None)
    assert status.reason == (
        f"it gave what its line in the registry of sources does not name: {type(stray).__name__}"
    )


def test_readings_that_are_named_come_in() -> None:
    host = HostReading(monotonic_seconds=1.0)
    sample = first_sample(Straying(GROUP, host), ("cgroups", "host"))
    assert (sample.sources[0].status, sample.cgroups, sample.host) == ("ok", (GROUP,), host)
    assert set(FIELDS) >= {"cgroups", "host"}


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), RuntimeError()])
def test_a_source_that_ends_the_interpreter_where_it_is_made_is_only_left_out(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quit_at_once(_: Context) -> Source:
        raise error

    quitting = ModuleType("quitting")
    vars(quitting)["make"] = quit_at_once
    monkeypatch.setitem(sys.modules, f"{SOURCES_PACKAGE}.quitting", quitting)
    made = make(Line("quitting", "quitting:make", ("host",), True, "quitting"), context())
    (status,) = first_sample(made, ("host",)).sources
    assert (status.name, status.status) == ("quitting", "failed")
    assert status.reason.startswith(f"cannot be used: {type(error).__name__}")


def test_a_source_that_cannot_be_loaded_says_so() -> None:
    broken = make(Line("broken", "host.nowhere:make", ("host",), True, "broken"), context())
    (status,) = first_sample(broken, ("host",)).sources
    assert (status.name, status.status) == ("broken", "failed")
    assert status.reason.startswith("cannot be used: ModuleNotFoundError: No module named ")
