"""Whom the events of the kernel's log concern: GPUs and cards by their PCI address, ranks by their pid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ..model.frame import Frame
from ..model.gpu_frames import GpuFrame
from ..model.gpu_readings import XidReading
from ..model.kernel_log import KernelLogFrame, KernelLogReading
from ..model.pci_address import card_address, normal_bus_id
from ..model.process_frames import ProcessFrame
from ..model.sample import Sample
from .extend import extend

_TOGETHER_SECONDS = 10.0
"""The driver's events and the log are read at different moments, and their clocks run apart."""
_JUST_KILLED_SECONDS = 60.0


class _At(NamedTuple):
    gpus: tuple[int, ...] = ()
    rdma_devices: tuple[str, ...] = ()
    below_bridge: bool = False


def derive_kernel_log(
    previous: Frame | None,
    current: Sample,
    gpus: Sequence[GpuFrame],
    processes: Sequence[ProcessFrame],
) -> tuple[KernelLogFrame, ...]:
    """The events with whom they concern."""
    if not current.kernel_log:
        return ()
    places = _places(current, gpus)
    owners = _Owners(previous, current, processes)
    return tuple(
        extend(
            KernelLogFrame,
            event,
            **_at(event, places)._asdict(),
            **owners.of(event),
        )
        for event in current.kernel_log
    )


def all_xids(
    told: Sequence[XidReading], log: Sequence[KernelLogFrame], gpus: Sequence[GpuFrame]
) -> tuple[XidReading, ...]:
    """The driver's own events, and of the log those that are none of them. The log alone knows the process
    and the driver's words."""
    events = list(told)
    uuids = {gpu.index: gpu.uuid for gpu in gpus}
    for line in log:
        if line.kind != "xid" or line.code is None or line.time_seconds is None:
            continue
        index = line.gpus[0] if line.gpus else None
        same = [place for place, xid in enumerate(events) if _is_same(xid, line, index, uuids)]
        for place in same:
            xid = events[place]
            events[place] = replace(xid, pid=xid.pid or line.pid, text=xid.text or _words_of(line))
        if not same:
            events.append(_xid(line, line.code, line.time_seconds, index, uuids))
    return tuple(events)


def _is_same(
    xid: XidReading, line: KernelLogFrame, index: int | None, uuids: dict[int, str | None]
) -> bool:
    newest = line.time_seconds or 0.0
    first = line.first_time_seconds or newest
    if xid.origin == "kernel log" or xid.code != line.code:
        return False
    if not first - _TOGETHER_SECONDS <= xid.time_seconds <= newest + _TOGETHER_SECONDS:
        return False
    if index is None or (xid.gpu_index is None and xid.gpu_uuid is None):
        return True
    return xid.gpu_index == index or (xid.gpu_uuid is not None and xid.gpu_uuid == uuids.get(index))


def _xid(
    line: KernelLogFrame,
    code: int,
    time_seconds: float,
    index: int | None,
    uuids: dict[int, str | None],
) -> XidReading:
    return XidReading(
        time_seconds=time_seconds,
        code=code,
        gpu_index=index,
        gpu_uuid=None if index is None else uuids.get(index),
        pid=line.pid,
        origin="kernel log",
        text=_words_of(line),
        pci_bus_id=line.pci_bus_id if index is None else None,
        before_start=line.before_start,
    )


def _words_of(line: KernelLogFrame) -> str:
    """What follows code and process, which are told apart from it."""
    words = line.text.partition("): ")[2].partition(", ")[2]
    while words.startswith(("pid=", "name=")):
        words = words.partition(", ")[2]
    return words or line.text


def _places(current: Sample, gpus: Sequence[GpuFrame]) -> dict[str, _At]:
    """Who is at the address of a card, without the function; who hangs below that of a bridge, with it:
    the functions of one are ports of their own."""
    cards: dict[str, _At] = {}
    for gpu in gpus:
        _add(cards, card_address(gpu.pci_bus_id), _At((gpu.index,)))
    for port in current.ports:
        _add(cards, card_address(port.pci_bus_id), _At((), (port.device,)))
    bridges: dict[str, _At] = {}
    for place in current.topology.places if current.topology else ():
        here = cards.get(card_address(place.bus_id) or "")
        if here is None:
            continue
        for bridge in place.path:
            _add(bridges, normal_bus_id(bridge), here._replace(below_bridge=True))
    return bridges | cards


def _add(found: dict[str, _At], address: str | None, more: _At) -> None:
    if address is None:
        return
    there = found.get(address, _At())
    found[address] = _At(
        tuple(dict.fromkeys((*there.gpus, *more.gpus))),
        tuple(dict.fromkeys((*there.rdma_devices, *more.rdma_devices))),
        more.below_bridge,
    )


def _at(event: KernelLogReading, places: dict[str, _At]) -> _At:
    bridge, card = normal_bus_id(event.pci_bus_id) or "", card_address(event.pci_bus_id) or ""
    return places.get(card) or places.get(bridge) or _At()


class _Owners:
    """Ranks and jobs by pid: of those that live, and of those that were there a moment ago."""

    def __init__(
        self, previous: Frame | None, current: Sample, processes: Sequence[ProcessFrame]
    ) -> None:
        self._now = current.time_seconds
        self._boot = current.time_seconds - current.monotonic_seconds - current.suspended_seconds
        """Unix time at which the node was started."""
        self._known = {
            _identity(event): event for event in (previous.kernel_log if previous else ())
        }
        self._people: dict[int, tuple[float, int | None, str | None]] = {}
        for process in _people(previous, processes):
            self._people[process.pid] = (
                process.start_time_seconds,
                process.rank,
                process.job_id,
            )
        for gone in (*previous.exited_ranks, *previous.pending_exits) if previous else ():
            self._people.setdefault(gone.pid, (gone.start_time_seconds, gone.rank, gone.job_id))

    def of(self, event: KernelLogReading) -> dict[str, object]:
        before = self._known.get(_identity(event))
        if before is not None and before.job_id is not None:
            return {"rank": before.rank, "job_id": before.job_id}
        person = self._people.get(event.pid) if event.pid is not None else None
        if person is None or event.time_seconds is None:
            return {}
        started, rank, job = person
        killed_long_ago = (
            event.kind == "oom kill" and self._now - event.time_seconds > _JUST_KILLED_SECONDS
        )
        if self._boot + started > event.time_seconds + 1.0 or killed_long_ago:
            return {}  # its pid was another's then
        return {"rank": rank, "job_id": job}


def _people(previous: Frame | None, processes: Sequence[ProcessFrame]) -> Iterable[ProcessFrame]:
    yield from (each for each in (previous.processes if previous else ()) if each.job_id)
    yield from (each for each in processes if each.job_id)


def _identity(event: KernelLogReading) -> tuple[object, ...]:
    """Times move with the wall's clock; the text does not."""
    return event.kind, event.pid, event.code, event.pci_bus_id, event.subject, event.text
