"""What a row of the table of signals says."""

from __future__ import annotations

from typing import Literal

import msgspec

SignalOf = Literal[
    "gpu",
    "host",
    "network",
    "process",
    "cgroup",
    "pressure",
    "limits",
    "mount",
    "port",
    "rank",
    "probe",
    "allocator",
]
"""Whose field it is; ``pressure``: a control group's, and ``limits``: a rank's, read by sources of their own.
``mount``: of a network file system.
``allocator``: PyTorch's, of a rank."""

UNITS = (
    "rotations_per_second",
    "bytes_per_second",
    "per_second",
    "seconds",
    "bytes",
    "ratio",
    "watts",
    "hertz",
    "celsius",
)
"""In which names of fields end, the longer before those that they end in."""


class Chart(msgspec.Struct, frozen=True):
    """How a signal is drawn over time."""

    role: str
    """Its color's."""
    full: tuple[str | float, ...] = ()
    """What it can be at most: the first of these fields that is there, or a number. Where none is, the
    scale ends at the most that was seen."""
    title: str = ""
    """Its own, where the signal's words leave no room for the numbers."""
    about: str = ""
    """For the help: what it is, over which time, and who measures it."""
    always: bool = True
    """Else it is left out where the value is missing: most boards have none."""


class Signal(msgspec.Struct, frozen=True):
    """One value of one kind of subject."""

    name: str
    """Field of its frame."""
    of: SignalOf
    words: str
    """For people; the same wherever a field has this name."""
    unit: str = ""
    """As in `rules.finding.Evidence`; empty: a word or a set of them."""
    kept: bool = False
    """History keeps it, so rules can ask for its mean and its growth."""
    chart: Chart | None = None
    fact: bool = False
    """It is listed among the facts on its subject's screen, where it is there, without further ado."""
    in_row: bool = False
    """It has a place in its subject's row, where a dash is explained."""
    moving: bool = False
    """Every GPU of any age has some of these: one that refuses them all is not read at all."""
    needs: str = ""
    """What a machine must have for it, where not every one has."""
