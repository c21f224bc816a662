"""NVLink: what each link is and has seen, and what all of them together carry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from ...model.gpu_readings import NvlinkReading
from ...model.missing_reasons import NO_VALUE
from .call import Answer, Calls, Fields
from .field_values import (
    LINK_CRC_ERRORS,
    LINK_RECOVERIES,
    LINK_REPLAYS,
    LINK_RX_BYTES,
    LINK_RX_KIB,
    LINK_SPEED,
    LINK_STATE,
    LINK_TX_BYTES,
    LINK_TX_KIB,
    LINK_VERSION,
    NVLINK_COUNT,
    NVLINK_RX_KIB,
    NVLINK_TX_KIB,
    Field,
    Values,
    read_fields,
)
from .names import NVLINK_GENERATIONS
from .units import count, multiple, text, word

_MOST_LINKS = 36
_BYTES_PER_KIB = 1024
_BYTES_PER_MB = 1e6
_DOWN = 0
_TRAFFIC_DISABLED = 3
"""As drivers from 610 on report it."""

Remote = Literal["gpu", "switch", "other"]
_REMOTES: dict[int, Remote] = {0: "gpu", 2: "switch"}


class _Quantity(NamedTuple):
    """Something of a link: its id with the link as scope, and the ids of older drivers.

    Those numbered links 0 to 5 in one row from ``low`` on and 6 to 11 in another from ``high`` on.
    """

    id: int
    low: int | None = None
    high: int | None = None

    def older(self, link: int) -> Field | None:
        """What an older driver is asked instead."""
        if self.low is None or self.high is None or link >= 12:
            return None
        return (self.low + link if link < 6 else self.high + link - 6, 0)

    def of(self, values: Values, link: int) -> int | None:
        """What was reported of a link; each tick asks for hundreds."""
        number = values.numbers.get((self.id, link))
        if number is None and (older := self.older(link)):
            number = values.numbers.get(older)
        return None if number is None else count(number).value


_STATE, _VERSION = _Quantity(LINK_STATE), _Quantity(LINK_VERSION)
_SPEED = _Quantity(LINK_SPEED, 84, 132)
_CRC = _Quantity(LINK_CRC_ERRORS, 32, 96)
_REPLAY = _Quantity(LINK_REPLAYS, 46, 108)
_RECOVERY = _Quantity(LINK_RECOVERIES, 53, 114)
_RX, _TX = _Quantity(LINK_RX_KIB), _Quantity(LINK_TX_KIB)
_RX_5, _TX_5 = _Quantity(LINK_RX_BYTES), _Quantity(LINK_TX_BYTES)
_USUAL = (_STATE, _VERSION, _SPEED, _CRC, _REPLAY, _RECOVERY, _RX, _TX)


class Links:
    """The NVLinks of one GPU. Used from one thread."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._active: tuple[int, ...] = ()
        self._remotes: dict[int, tuple[Remote | None, str | None]] = {}
        self._version: int | None = None
        self._per_link = False
        self._reported: dict[Field, int] = {}
        """States as they were reported last, where the driver has the field for it."""

    def read(self, calls: Calls, fields: Fields) -> None:
        """All links; empty where the chip has none."""
        if self._count is None:
            answer = _count_links(calls)
            if answer.value is None:
                fields.absent(answer.reason, "nvlinks")
                return
            self._count = answer.value
        values = _read_all(calls, self._count)
        now = _states(calls, values, range(self._count))
        states = [(LINK_STATE, link) for link in range(self._count)]
        self._reported = {
            field: values.numbers[field] for field in states if field in values.numbers
        }
        links = tuple(self._link(calls, values, link, now.get(link)) for link in range(self._count))
        self._active = tuple(link.link for link in links if link.active)
        fields.put("nvlinks", Answer(links))

    def changed(self, calls: Calls) -> bool:
        """Whether a link has gone up or down since all was read: one call for all of them.

        Drivers older than R510 would have to be asked link by link; the next reading tells it there.
        """
        states = read_fields(calls, list(self._reported)).numbers
        return any(
            states.get(field, reported) != reported for field, reported in self._reported.items()
        )

    @property
    def any(self) -> bool:
        """The chip has at least one."""
        return bool(self._count)

    def wanted(self, calls: Calls) -> tuple[Field, ...]:
        """The fields that `put_totals` needs, to be read along with others."""
        if not self._count:
            return ()
        self._per_link = bool(calls.refusal(NVLINK_RX_KIB)) and not calls.refusal(
            (LINK_RX_BYTES, 0)
        )
        if not self._per_link:
            return (NVLINK_RX_KIB, NVLINK_TX_KIB)
        ids = (LINK_RX_BYTES, LINK_TX_BYTES)
        return tuple((id_, link) for id_ in ids for link in self._active)

    def put_totals(self, values: Values, fields: Fields) -> None:
        """Bytes over all links, with the driver's own time of counting."""
        if not self._count:
            fields.absent(
                "has no NVLink" if self._count == 0 else NO_VALUE,
                "nvlink_rx_bytes",
                "nvlink_tx_bytes",
            )
            return
        fields.put("nvlink_rx_bytes", self._total(values, NVLINK_RX_KIB, LINK_RX_BYTES))
        fields.put("nvlink_tx_bytes", self._total(values, NVLINK_TX_KIB, LINK_TX_BYTES))
        first = self._active[0] if self._active else 0
        stamp = values.stamps.get((LINK_RX_BYTES, first) if self._per_link else NVLINK_RX_KIB, 0)
        if stamp > 0 and "nvlink_rx_bytes" in fields.values:
            fields.values["nvlink_monotonic_seconds"] = stamp / 1e6

    def _total(self, values: Values, all_links: Field, per_link: int) -> Answer[int]:
        if all_links in values.numbers or not self._per_link:
            return values[all_links].then(multiple(_BYTES_PER_KIB))
        total, links = 0, 0
        for link in self._active:
            answer = values[per_link, link].then(count)
            if answer.value is None:
                return answer
            total, links = total + answer.value, links + 1
        return Answer(total) if links else Answer(None, "no link is up")

    def _link(self, calls: Calls, values: Values, link: int, state: int | None) -> NvlinkReading:
        active = None if state is None else state != _DOWN
        version = _VERSION.of(values, link)
        if version is None:
            version = self._common_version(calls)
        remote, bus = self._remote(calls, link, active)
        speed, rx, tx = (quantity.of(values, link) for quantity in (_SPEED, _RX, _TX))
        return NvlinkReading(
            link=link,
            active=active,
            traffic_disabled=None if state is None else state == _TRAFFIC_DISABLED,
            version=NVLINK_GENERATIONS.get(version) if version else None,
            speed_bytes_per_second=speed * _BYTES_PER_MB if speed else None,
            remote=remote,
            remote_pci_bus_id=bus,
            stamp_seconds=_stamp(values, link),
            rx_bytes=_RX_5.of(values, link) if rx is None else _bytes(rx),
            tx_bytes=_TX_5.of(values, link) if tx is None else _bytes(tx),
            crc_errors=_CRC.of(values, link),
            replay_errors=_REPLAY.of(values, link),
            recovery_errors=_RECOVERY.of(values, link),
        )

    def _common_version(self, calls: Calls) -> int | None:
        # All links of a chip are of one version, and a call for each is what older drivers cost.
        if self._version is None:
            self._version = calls.ask("nvmlDeviceGetNvLinkVersion", 0).then(word).value
        return self._version

    def _remote(
        self, calls: Calls, link: int, active: bool | None
    ) -> tuple[Remote | None, str | None]:
        if active and link not in self._remotes:
            kind = calls.ask("nvmlDeviceGetNvLinkRemoteDeviceType", link).then(word)
            info = calls.ask("nvmlDeviceGetNvLinkRemotePciInfo", link).value
            self._remotes[link] = (
                None if kind.value is None else _REMOTES.get(kind.value, "other"),
                None if info is None else text(info.busId).value,
            )
        return self._remotes.get(link, (None, None))


def _count_links(calls: Calls) -> Answer[int]:
    answer = read_fields(calls, (NVLINK_COUNT,))[NVLINK_COUNT]
    if answer.value is not None:
        return answer.then(word).then(lambda number: Answer(min(number, _MOST_LINKS)))
    if calls.failure:
        return answer
    # Without that field: the first link that the driver does not know ends the row.
    for link in range(_MOST_LINKS):
        state = calls.ask("nvmlDeviceGetNvLinkState", link)
        if state.value is None:
            calls.failure = ""
            return Answer(link)
    return Answer(_MOST_LINKS)


def _states(calls: Calls, values: Values, links: Iterable[int]) -> dict[int, int]:
    """The state of each link that is reported; drivers that lack the field are asked link by link."""
    states: dict[int, int] = {}
    for link in links:
        state = _STATE.of(values, link)
        if state is None:
            state = calls.ask("nvmlDeviceGetNvLinkState", link).then(word).value
        if state is not None:
            states[link] = state
    return states


def _bytes(kib: int) -> int | None:
    return multiple(_BYTES_PER_KIB)(kib).value


def _stamp(values: Values, link: int) -> float | None:
    """All counters of a link are read together, so the time of one stands for both directions."""
    stamp = values.stamps.get((LINK_RX_KIB, link)) or values.stamps.get((LINK_RX_BYTES, link))
    return stamp / 1e6 if stamp and stamp > 0 else None


def _read_all(calls: Calls, links: int) -> Values:
    """The usual quantities; what the first link lacks is asked for by the older or newer ids too."""
    every = range(links)
    values = read_fields(calls, [(quantity.id, link) for quantity in _USUAL for link in every])
    more: list[Field] = []
    for quantity in _USUAL:
        if links and (quantity.id, 0) not in values.numbers:
            more += [older for link in every if (older := quantity.older(link))]
            if quantity is _RX:
                more += [(id_, link) for id_ in (LINK_RX_BYTES, LINK_TX_BYTES) for link in every]
    values.add(read_fields(calls, more))
    return values
