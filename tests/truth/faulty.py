"""Jobs in which something is wrong, and what."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from .case import Case
from .ways import WAYS

_ONE_OF_TWO_ONLY = (
    *("stopped_program", "stopped_compiler", "name_server", "backs_off", "forgotten_breakpoint"),
    *("joined_process", "program_that_ends_not", "waits_for_child", "long_sleep", "event_loop"),
    "accepts",
)
"""Of one process alone nothing tells that it is a fault."""


_LIKE_A_SERVER_ALONE = ("selects", "waits_for_signal")
_LIKE_A_SERVER = ("accepts", "event_loop")
"""Beside ranks that wait in a collective, too: so do those of an inference server for its next request."""


def _alone() -> list[Case]:
    return [
        Case(
            name=f"alone: {way}",
            job=f"hung.odd_{way}",
            faulty=True,
            culprits=(0, None),
            causes=causes,
            announced=True,
            needs_probe=way in _LIKE_A_SERVER_ALONE,
        )
        for way, causes in WAYS.items()
        if way not in _ONE_OF_TWO_ONLY
    ]


def _while_others_wait(
    place: str, title: str, ways: tuple[str, ...], also: tuple[str, ...] = ()
) -> list[Case]:
    return [
        Case(
            name=f"{title}: {way}",
            job=f"hung.{place}_{way}",
            faulty=True,
            ranks=2,
            culprits=(1,),
            causes=WAYS[way] + also,
            waited_for=True,
            launcher="mpirun",
            needs_probe=way in _LIKE_A_SERVER,
        )
        for way in ways
    ]


def _all_at_once() -> list[Case]:
    return [
        Case(
            name=f"all at once: {way}",
            job=f"hung.all_{way}",
            faulty=True,
            ranks=2,
            culprits=(0, 1, None),
            causes=WAYS[way],
            announced=True,
            launcher="mpirun",
        )
        for way in ("fifo_read", "socket_read", "lock", "spin")
    ]


def _meeting(
    name: str, causes: tuple[str, ...], culprits: tuple[int | None, ...] = (1,), ranks: int = 3
) -> Case:
    return Case(
        name=f"meeting: {name}",
        job=f"meetings.{name}",
        faulty=True,
        ranks=ranks,
        culprits=culprits,
        causes=causes,
        waited_for=True,
        launcher="mpirun",
    )


_MISMATCH = ("RUN404", "mismatch", "another collective", "different collective")
_ENDED = ("finished", "has ended", r"\bexit", "shut")
_WORKER = ("HST115", "worker")


def _loader(
    name: str, causes: tuple[str, ...], ranks: int = 1, faulty_seconds: float = 0.1
) -> Case:
    return Case(
        name=f"loader: {name}" + (" beside a rank that waits" if ranks > 1 else ""),
        job=f"loaders.{name}",
        faulty=True,
        ranks=ranks,
        culprits=(1,) if ranks > 1 else (0, None),
        causes=causes,
        waited_for=ranks > 1,
        announced=ranks == 1 and name != "slow",
        step_seconds=faulty_seconds,
        launcher="mpirun" if ranks > 1 else "none",
    )


_ALONE_ONLY = ("fifo_read", "flock_polled", "dead_writer", "file_baton")
_RANKS = tuple(way for way in WAYS if way not in _ALONE_ONLY)

FAULTY: tuple[Case, ...] = (
    *_alone(),
    *_all_at_once(),
    *_while_others_wait("odd", "one of two", _RANKS),
    *_while_others_wait(
        "early",
        "in rendezvous",
        ("flock", "flock_polled", "baton", "socket_read"),
        ("rendezvous", "not joined", "not come"),
    ),
    *_while_others_wait("saving", "saving", ("fifo_open", "lock", "socket_read")),
    *_while_others_wait("evaluating", "evaluating", ("lock", "socket_read")),
    Case(
        name="saving: torch.save to a FIFO",
        job="hung.save_to_fifo",
        faulty=True,
        ranks=2,
        culprits=(1,),
        causes=WAYS["fifo_open"],
        waited_for=True,
        launcher="torchrun",
    ),
    _meeting("additional", _MISMATCH),
    _meeting("skipped", _MISMATCH),
    _meeting("another", _MISMATCH),
    _meeting("lone_barrier", _MISMATCH),
    _meeting("out_of_data", _MISMATCH),
    _meeting("opposite_groups", (*_MISMATCH, "cycle"), (0, 1, None)),
    _meeting("sits_in_exit", _ENDED),
    _meeting("sits_in_join", (*_ENDED, "RUN406", "thread")),
    _meeting("killed", ("RUN424",)),
    replace(_meeting("killed", ("RUN424",)), name="meeting: killed while watched", announced=True),
    replace(_meeting("straggles", ("RUN407",), ranks=2), waited_for=False),
    Case(
        name="one of two: slower by what it waits for",
        job="hung.odd_sleeps_in_every_step",
        faulty=True,
        ranks=2,
        culprits=(1,),
        causes=("RUN407",),
        launcher="mpirun",
    ),
    Case(
        name="one of two: stop",
        job="hung.odd_stop",
        faulty=True,
        ranks=2,
        culprits=(1,),
        causes=("RUN423",),
        waited_for=True,
        launcher="torchrun",
    ),
    Case(
        name="all at once: stop",
        job="hung.all_stop",
        faulty=True,
        ranks=2,
        culprits=(0, 1, None),
        causes=("RUN423",),
        announced=True,
        launcher="mpirun",
    ),
    _loader("deadlocked", _WORKER),
    _loader("blocked", (*_WORKER, "fifo")),
    _loader("stopped", (*_WORKER, "RUN423")),
    _loader("deadlocked", _WORKER, ranks=2),
    _loader("stopped", (*_WORKER, "RUN423"), ranks=2),
    _loader("slow", ("loader", "input", "data wait", "worker"), faulty_seconds=0.7),
    Case(
        name="quota of the control group",
        job="training.plain",
        faulty=True,
        culprits=(0, None),
        causes=("HST110",),
        missing=""
        if os.access(Path("/sys/fs/cgroup/cgroup.procs"), os.W_OK)
        else "no control group here can be written to",
    ),
)
