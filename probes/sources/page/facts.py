"""The two texts of a state page: facts, which rarely change, and gauges, looked at once a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ...inprocess import layout
from ...model.probe_readings import AllocatorReading, DdpReading, LoaderReading
from ..procfs.redaction import mask_text
from .values import entries, flag, items, json_object, real, text, whole, wholes

_NAME_CHARACTERS = 40
_PATH_CHARACTERS = 256
_MOST_HOOKS = 64
_MOST_THREADS = 64
_MOST_RANKS = 65536
_MOST_WORKERS = 256
_CODES_OF_A_WORD = 256
_TOO_COSTLY = "off: the probe took "

_Fields = dict[str, Any]
"""Field of a reading → value."""

_TEXTS = {
    "job_name": "job_name",
    "python": "python_version",
    "torch": "torch_version",
    "cuda": "cuda_version",
    "nccl": "nccl_version",
    "precision": "precision",
    "device_uuid": "device_uuid",
    "trouble": "error",
}
_WHOLES = ("rank", "local_rank", "world_size")
_ALLOCATOR = ("allocated_bytes", "reserved_bytes", "inactive_split_bytes", "alloc_retries", "ooms")
_DDP = ("backward_compute", "backward_comm", "backward_overlap")
_LOADER: dict[str, Callable[[object], object]] = {
    "num_workers": whole,
    "prefetch_factor": whole,
    "pin_memory": flag,
    "persistent_workers": flag,
    "batch_size": whole,
    "queue_depth": whole,
    "queue_capacity": whole,
    "failures": whole,
}


class Group(NamedTuple):
    """A process group of the job."""

    name: str
    ranks: tuple[int, ...]


class Facts(msgspec.Struct, frozen=True):
    """What rarely changes."""

    fields: _Fields = msgspec.field(default_factory=dict[str, Any])
    """Of a `ProbeReading`, as they stand."""
    phases: tuple[str | None, ...] = ()
    """Name by code, for every code that a word can hold."""
    groups: tuple[Group, ...] = ()
    threads: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    main_slot: int = 0
    steps_off: tuple[int, str] | None = None
    """The moment from which on steps are not counted, unless one has ended since, and why."""
    loader: _Fields = msgspec.field(default_factory=dict[str, Any])


class Gauges(msgspec.Struct, frozen=True):
    """What is looked at once a second."""

    taken: int = 0
    """Nanoseconds of the monotonic clock; 0: not reported."""
    fields: _Fields = msgspec.field(default_factory=dict[str, Any])
    loader: _Fields = msgspec.field(default_factory=dict[str, Any])


def parse_facts(payload: bytes) -> Facts:
    """What is usable of the facts; each field that is not is left out."""
    found = json_object(payload)
    fields: _Fields = {
        ours: mask_text(value)
        for theirs, ours in _TEXTS.items()
        if (value := text(found.get(theirs)))
    }
    fields |= _known({name: whole(found.get(name)) for name in _WHOLES})
    socket = found.get("socket")
    if isinstance(socket, str) and len(socket) <= _PATH_CHARACTERS and text(socket) == socket:
        fields["socket"] = socket
    hooks = _texts(found.get("hooks"), _MOST_HOOKS)
    if hooks:
        fields["instruments"] = hooks
    main_slot = whole(found.get("main_slot"), layout.THREADS - 1)
    return Facts(
        fields=fields,
        phases=_phase_names(found.get("phase_names")),
        groups=_groups(found.get("groups")),
        threads=_thread_names(found.get("threads")),
        main_slot=main_slot or 0,
        steps_off=_steps_off(entries(found.get("steps_off")), hooks),
        loader=_loader_fields(found.get("loader")),
    )


def parse_gauges(payload: bytes) -> Gauges:
    """What is usable of the gauges; each field that is not is left out."""
    found = json_object(payload)
    pauses = real(found.get("gc_pause_ns"))
    fields = _known(
        {
            "allocator": _allocator(found.get("allocator")),
            "ddp": _ddp(found.get("ddp")),
            "gc_pauses": whole(found.get("gc_pauses")),
            "gc_pause_seconds": None if pauses is None else pauses / 1e9,
            "recompiles": whole(found.get("recompiles")),
            "overhead_ratio": real(found.get("cost_ratio")),
        }
    )
    return Gauges(whole(found.get("at"), 2**62) or 0, fields, _loader_fields(found.get("loader")))


def loader_reading(facts: Facts, gauges: Gauges) -> LoaderReading | None:
    """What the facts say of the DataLoader, and the gauges of its queue."""
    fields = facts.loader | gauges.loader
    return LoaderReading(**fields) if fields else None


def _steps_off(found: _Fields, hooks: dict[str, str]) -> tuple[int, str] | None:
    since, why = whole(found.get("since"), 2**62), text(found.get("why"))
    if since is not None and why is not None:
        return since, why
    state = hooks.get("optimizer", "")
    if state.startswith(_TOO_COSTLY):  # by a probe that does not tell of it, and never tries again
        return 2**62, f"optimizer: {state}"
    return None


def _phase_names(value: object) -> tuple[str | None, ...]:
    names: list[str | None] = ["other"] * _CODES_OF_A_WORD
    names[: len(layout.PHASES)] = layout.PHASES
    names[layout.CODES["none"]] = None
    for key, name in _pairs(value, layout.MAX_CODES):
        code = int(key) if key.isdecimal() and len(key) <= 3 else 0
        if layout.USER_CODE <= code < layout.MAX_CODES:
            names[code] = mask_text(text(name, _NAME_CHARACTERS) or "other")
    return tuple(names)


def _groups(value: object) -> tuple[Group, ...]:
    # A group that cannot be read keeps its place: its number is that of its counters.
    return tuple(
        Group(
            mask_text(text(group.get("name")) or f"group {place}"),
            wholes(group.get("ranks"), _MOST_RANKS),
        )
        for place, group in enumerate(map(entries, items(value, layout.GROUPS)))
    )


def _thread_names(value: object) -> dict[int, str]:
    return {
        int(key): name
        for key, each in _pairs(value, _MOST_THREADS)
        if key.isdecimal() and len(key) <= 10 and (name := text(each, _NAME_CHARACTERS))
    }


def _texts(value: object, most: int) -> dict[str, str]:
    return {
        name: mask_text(word)
        for key, each in _pairs(value, most)
        if (name := text(key)) and (word := text(each))
    }


def _pairs(value: object, most: int) -> list[tuple[str, object]]:
    return list(entries(value).items())[:most]


def _allocator(value: object) -> AllocatorReading | None:
    found = entries(value)
    fields = _known({name: whole(found.get(name)) for name in _ALLOCATOR})
    return AllocatorReading(**fields) if fields else None


def _ddp(value: object) -> DdpReading | None:
    found = entries(value)
    times = _known({name: whole(found.get(f"{name}_ns")) for name in _DDP})
    seconds = {f"{name}_seconds": time / 1e9 for name, time in times.items()}
    return DdpReading(**seconds) if seconds else None


def _loader_fields(value: object) -> _Fields:
    found = entries(value)
    fields = _known({name: check(found.get(name)) for name, check in _LOADER.items()})
    pids = wholes(found.get("worker_pids"), _MOST_WORKERS)
    return fields | {"worker_pids": pids} if pids else fields


def _known(fields: _Fields) -> _Fields:
    return {name: value for name, value in fields.items() if value is not None}


NO_FACTS = Facts(phases=_phase_names(None))
"""Of a page whose facts are not stored yet."""
