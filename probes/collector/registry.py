"""All sources, one line each: what a source is called, where it is made, and what it fills.

A new source is its file, its line here, and a field of the `Sample` where its readings are of a new
kind. Nothing of a source is loaded by this module, so that the command line can name them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..sources.context import Context
    from ..sources.protocol import Source

_SOURCES = f"{__name__.rsplit('.', 2)[0]}.sources"


class Line(msgspec.Struct, frozen=True):
    """One source."""

    name: str
    """As ``gputop doctor`` shows it: the source's own name."""
    factory: str
    """``MODULE:FUNCTION`` below ``probes/sources``; the function takes the context."""
    fills: tuple[str, ...]
    """Fields of the `Sample` that its readings go to; any other reading of it is refused."""
    first: bool
    """The first picture needs it. All others are loaded after that, for loading takes long."""
    without: str
    """By which ``--without`` leaves it out: its name, or that of the source which it builds on."""


LINES = (
    Line("nvml", "nvml.driver:make", ("driver", "gpus", "xids", "gpu_paths"), True, "nvml"),
    Line("processes", "processes.source:make", ("processes",), True, "processes"),
    Line("host", "host.source:make", ("host",), True, "host"),
    Line("threads", "processes.threads:make", ("threads", "exits"), False, "processes"),
    Line("limits", "processes.limits:make", ("limits",), False, "processes"),
    Line("mounts", "processes.mounts:make", ("mounts",), False, "processes"),
    Line("stacks", "stacks.source:make", ("stacks",), False, "processes"),
    Line("waits", "waits.source:make", ("waits",), False, "processes"),
    Line("nccl ras", "nccl_ras.source:make", ("communicators",), False, "processes"),
    Line("inprocess", "page.source:make", ("probes",), False, "inprocess"),
    Line("cgroups", "host.cgroup:make", ("cgroups",), False, "cgroups"),
    Line("pressure", "host.pressure:make", ("pressures",), False, "pressure"),
    Line("infiniband", "rdma.source:make", ("ports",), False, "infiniband"),
    Line("topology", "topology.source:make", ("topology",), False, "topology"),
    Line("imex", "host.imex:make", ("imex",), False, "imex"),
    Line("kernel log", "kernel_log.source:make", ("kernel_log",), False, "kernel log"),
    Line("numa", "host.numa:make", ("placements",), False, "numa"),
)
"""In the order in which they are asked. NVML adds a source for each GPU, which share its line."""


def names(lines: Iterable[Line] = LINES) -> tuple[str, ...]:
    """What ``--without`` takes."""
    return tuple(dict.fromkeys(line.without for line in lines))


def chosen(*, first: bool, without: frozenset[str]) -> Iterator[Line]:
    """The lines of the first picture, or those of later, that are wanted."""
    return (line for line in LINES if line.first is first and line.without not in without)


def make(line: Line, context: Context) -> Source:
    """Load a source and make it; where that fails, one that says so each time it is read."""
    module, _, function = line.factory.partition(":")
    try:
        source: Source = getattr(import_module(f"{_SOURCES}.{module}"), function)(context)
    except BaseException as error:  # a library that calls exit() ends no collector
        import logging

        from ..sources.protocol import failure_words

        logging.getLogger(__name__).exception("source %s cannot be made", line.name)
        return _Unusable(line.name, f"cannot be used: {failure_words(error)}")
    return source


class _Unusable:
    """Stands for a source that could not be loaded or made."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def read(self) -> tuple[msgspec.Struct, ...]:
        from ..sources.protocol import SourceError

        raise SourceError(self._reason)

    def close(self) -> None:
        """It holds nothing."""
