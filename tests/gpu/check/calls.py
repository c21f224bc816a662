"""How long each call of NVML takes that gputop makes, and which the driver does not support.

gputop's own NVML sources run in this process, and the library that nvidia-ml-py has loaded is put behind one
that keeps the time of each function. Nothing of that is in the product.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from gputop.probes.sources.nvml.driver import NvmlDriver
from gputop.probes.sources.protocol import Source, SourceError
from gputop.probes.sources.watchlist import Watchlist

from .section import Section
from .setting import Setting

TICKS = 12
TICK_SECONDS = 0.5
SLOW_SECONDS = 0.1
"""A call that takes longer at its median is told as a failure: with eight GPUs it is most of a tick."""
_FIELDS = "nvmlDeviceGetFieldValues"
_ENTRY = struct.Struct("IIqqII8s")
"""nvmlFieldValue_t: id, scope, timestamp, latency, type, return code, value."""
_NAMES = {0: "", 3: "not supported", 13: "not in this library", 2: "invalid argument"}


@dataclass
class Spent:
    """All calls of one function."""

    seconds: list[float] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)
    """Return code → how often."""


class TimedLibrary:
    """A library whose functions keep the time that they take."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._functions: dict[str, Callable[..., Any]] = {}
        self.spent: dict[str, Spent] = {}
        self.fields: dict[tuple[int, int], dict[int, int]] = {}
        """Field id and scope → return code → how often."""

    def __getattr__(self, name: str) -> Any:
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self._timed(name, getattr(self._library, name))
        return found

    def _timed(self, name: str, function: Any) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.perf_counter()
            code = function(*arguments)
            took = time.perf_counter() - began
            spent = self.spent.setdefault(name, Spent())
            spent.seconds.append(took)
            if isinstance(code, int):
                spent.codes[code] = spent.codes.get(code, 0) + 1
                if name == _FIELDS and code == 0:
                    self._look_into(arguments[1], arguments[2])
            return code

        return call

    def _look_into(self, count: Any, entries: Any) -> None:
        number = getattr(count, "value", count)
        data = ctypes.string_at(entries, number * _ENTRY.size)
        for id_, scope, _, _, _, code, _ in _ENTRY.iter_unpack(data):
            codes = self.fields.setdefault((id_, scope), {})
            codes[code] = codes.get(code, 0) + 1


def run(setting: Setting, said: Section) -> None:
    """Read all sources some times, as the collector does, and tell the table."""
    import pynvml

    nvml: Any = pynvml
    try:
        nvml._LoadNvmlLibrary()
    except nvml.NVMLError as error:
        said.failure(f"the library does not load: {error}")
        return
    library = nvml.nvmlLib = TimedLibrary(nvml.nvmlLib)
    nvml._nvmlGetFunctionPointer_cache.clear()
    refusals, ticks = _read_sources(setting)
    said.text(
        f"{len(ticks)} ticks of all sources, one after the other: {median(ticks) * 1e3:.1f} ms in the middle, "
        f"the first {ticks[0] * 1e3:.0f} ms."
    )
    for sentence in refusals:
        said.failure(sentence)
    said.table(("call", "calls", "median", "longest", "all", "refused with"), _calls(library, nvml))
    said.table(("field id", "scope", "refused with"), _fields(library, nvml))
    for name, spent in library.spent.items():
        if name.startswith("nvmlDevice") and median(spent.seconds) > SLOW_SECONDS:
            said.failure(f"{name} takes {median(spent.seconds) * 1e3:.0f} ms")


def _read_sources(setting: Setting) -> tuple[list[str], list[float]]:
    """What sources could not read, and seconds of each tick."""
    sources: list[Source] = []
    driver = NvmlDriver(sources.append, Watchlist())
    sources.append(driver)
    reasons: dict[str, None] = {}
    ticks: list[float] = []
    for _ in range(TICKS):
        began = time.perf_counter()
        for source in sources:  # the driver adds those of the GPUs while it is read
            try:
                source.read()
            except SourceError as error:
                reasons[f"{source.name}: {error.reason}"] = None
        ticks.append(time.perf_counter() - began)
        if setting.left_seconds < 2 * TICK_SECONDS + ticks[-1]:
            break
        time.sleep(TICK_SECONDS)
    return list(reasons), ticks


def _calls(library: TimedLibrary, nvml: Any) -> Iterator[tuple[object, ...]]:
    """What takes most in all first."""
    ordered = sorted(library.spent.items(), key=lambda each: -sum(each[1].seconds))
    for name, spent in ordered:
        yield (
            name,
            len(spent.seconds),
            _microseconds(median(spent.seconds)),
            _microseconds(max(spent.seconds)),
            _microseconds(sum(spent.seconds)),
            _refusals(spent.codes, nvml),
        )


def _fields(library: TimedLibrary, nvml: Any) -> Iterator[tuple[object, ...]]:
    for (id_, scope), codes in sorted(library.fields.items()):
        scopes = "all links" if scope == 0xFFFFFFFF else scope
        yield id_, scopes, _refusals(codes, nvml) or "–"


def _refusals(codes: dict[int, int], nvml: Any) -> str:
    told = (
        f"{_NAMES.get(code) or nvml.NVMLError(code)} ({times}×)"
        for code, times in sorted(codes.items())
        if code
    )
    return ", ".join(told)


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
