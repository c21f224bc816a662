"""How far GPUs are from each other on PCIe, and whether one may reach the memory of the other, in the
driver's words. Asked once, for it does not change; only what is refused is asked for again now and
then, since a fabric manager may come later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model.link_readings import PEER_OK, GpuPathsReading
from ..protocol import SourceUnsupported
from .call import Answer, Calls, GpuLost
from .session import Gate, Session
from .units import word

_FUNCTION = "nvmlDeviceGetTopologyCommonAncestor"
_PEER_FUNCTION = "nvmlDeviceGetP2PStatus"
_READ, _NVLINK = 0, 2
_PEER_STATES = {
    0: PEER_OK,
    1: "chipset not supported",
    2: "GPU not supported",
    3: "topology not supported",
    4: "disabled by a registry key",
    5: "not supported",
}
_LEVELS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_RETRY_SECONDS = 60.0


class NvmlTopology:
    """Asks about each pair of GPUs, again only where a pair had no answer, or the driver was away.

    Args:
        gate: to the driver.
        count: tells how many GPUs there are.
        clock: monotonic seconds.
    """

    name = "nvml topology"
    rest_seconds = 5.0

    def __init__(self, gate: Gate, count: Callable[[], int], clock: Callable[[], float]) -> None:
        self._gate = gate
        self._count = count
        self._clock = clock
        self._session: Session | None = None
        self._asked = 0
        self._retry_at = 0.0
        self._paths: dict[tuple[int, int], str] = {}
        self._peers: dict[tuple[int, int], tuple[str | None, str | None]] = {}
        self._reading: GpuPathsReading | None = None

    def read(self) -> tuple[GpuPathsReading, ...]:
        """All pairs that are known.

        Raises:
            SourceUnsupported: the driver tells of none.
            SourceError: it is away.
        """
        now, count = self._clock(), self._count()
        with self._gate.enter(self.name) as session:
            known = session is self._session and count == self._asked
            if not known or now >= self._retry_at:
                self._session, self._asked = session, count
                self._retry_at = now + _RETRY_SECONDS
                self._ask(session, count)
        if count < 2:
            return ()
        if self._reading is None:
            raise SourceUnsupported("the driver does not tell how far GPUs are from each other")
        return (self._reading,)

    def close(self) -> None:
        """Nothing is held."""

    def _ask(self, session: Session, count: int) -> None:
        pairs = [(one, two) for one in range(count) for two in range(one + 1, count)]
        open_pairs = [pair for pair in pairs if pair not in self._paths or self._is_refused(pair)]
        if not open_pairs:
            return
        handles = {index: self._handle(session, index) for pair in open_pairs for index in pair}
        for one, two in open_pairs:
            if (one, two) not in self._paths:
                level = self._level(session, handles[one], handles[two])
                if level is not None:
                    self._paths[one, two] = level
            self._peers[one, two] = (
                self._peer(session, handles[one], handles[two], _READ),
                self._peer(session, handles[one], handles[two], _NVLINK),
            )
        if self._paths:
            self._reading = GpuPathsReading(
                monotonic_seconds=self._clock(),
                paths=tuple((*pair, level) for pair, level in sorted(self._paths.items())),
                peers=tuple((*pair, *states) for pair, states in sorted(self._peers.items())),
            )

    def _is_refused(self, pair: tuple[int, int]) -> bool:
        return self._peers.get(pair, (None, None))[1] not in (None, PEER_OK)

    def _peer(self, session: Session, one: Any, two: Any, capability: int) -> str | None:
        ask = getattr(session.nvml, _PEER_FUNCTION, None)
        if one is None or two is None or ask is None:
            return None
        calls = Calls(session.nvml, one, self._clock)
        try:
            answer: Answer[Any] = calls.run(_PEER_FUNCTION, lambda: ask(one, two, capability))
        except GpuLost:
            return None
        state = answer.then(word).value
        return None if state is None else _PEER_STATES.get(state)

    def _handle(self, session: Session, index: int) -> Any:
        calls = Calls(session.nvml, None, self._clock)
        try:
            return calls.run("handle", lambda: session.nvml.nvmlDeviceGetHandleByIndex(index)).value
        except GpuLost:
            return None

    def _level(self, session: Session, one: Any, two: Any) -> str | None:
        if one is None or two is None:
            return None
        calls = Calls(session.nvml, one, self._clock)
        ask = getattr(session.nvml, _FUNCTION, None)
        if ask is None:
            return None
        try:
            answer: Answer[Any] = calls.run(_FUNCTION, lambda: ask(one, two))
        except GpuLost:
            return None
        return _LEVELS.get(answer.then(word).value or 0) if answer.value is not None else None
