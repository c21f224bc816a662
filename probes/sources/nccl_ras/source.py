"""What NCCL's RAS knows of the ranks here: asked only while somebody looks closer at a job, and rarely.

Each question makes NCCL gather answers from all nodes of the job.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...model.rank_readings import CommunicatorRankReading, CommunicatorReading
from ..context import Context
from ..procfs.environment import parse_environment
from ..procfs.files import read_file
from ..procfs.text import parse_status
from ..protocol import SourceError
from ..stack_requests import StackRequests
from ..watchlist import Watchlist
from .protocol import PORT, RasCommunicator, RasRank, ask, of_pids

AGAIN_SECONDS = 10.0
_MOST_ADDRESSES = 4
_MOST_COMMUNICATORS = 64
_MOST_RANKS = 4096
_ADDRESS = "NCCL_RAS_ADDR"
_ENVIRONMENT_BYTES = 1 << 18

Address = tuple[str, int]


class RasSource:
    """One reading for each communicator in which a rank of this node is.

    Args:
        watchlist: says which processes are ranks.
        requests: says when somebody looks closer at them.
        root: of the file system with ``proc`` in it.
    """

    name = "nccl ras"

    def __init__(
        self, watchlist: Watchlist, requests: StackRequests, root: Path = Path("/")
    ) -> None:
        self._watchlist = watchlist
        self._requests = requests
        self._root = root
        self._due = 0.0
        self._known: tuple[CommunicatorReading, ...] = ()

    def read(self) -> tuple[CommunicatorReading, ...]:
        """What was answered last.

        Raises:
            SourceError: when nobody answers, or not in RAS's words.
        """
        now = time.monotonic()
        ranks = self._watchlist.ranks()
        looked_at = [pid for pid in self._requests.wanted(now) if pid in ranks]
        if not looked_at:
            self._known = ()
            return ()
        if now >= self._due:
            self._due = now + AGAIN_SECONDS
            self._known = ()
            self._known = tuple(self._ask(looked_at))
        return self._known

    def close(self) -> None:
        """It holds nothing between two reads."""

    def _ask(self, pids: list[int]) -> Iterator[CommunicatorReading]:
        inside = {number: pid for pid in pids for number in self._numbers(pid)}
        errors: list[SourceError] = []
        addresses = dict.fromkeys(self._address(pid) for pid in pids)
        for host, port in list(addresses)[:_MOST_ADDRESSES]:
            try:
                found = of_pids(ask(port, host), frozenset(inside))
            except SourceError as error:
                errors.append(error)
                continue
            yield from (_reading(each, inside) for each in found[:_MOST_COMMUNICATORS])
        if len(errors) == len(addresses):
            raise errors[0]

    def _numbers(self, pid: int) -> tuple[int, ...]:
        """Its pid in each namespace: NCCL gives its own, which may be that of a container."""
        try:
            status = parse_status(read_file(self._root / f"proc/{pid}/status"))
        except OSError:
            return (pid,)
        return status.namespace_pids or (pid,)

    def _address(self, pid: int) -> Address:
        """Where the process was reported to answer."""
        try:
            data = read_file(self._root / f"proc/{pid}/environ", _ENVIRONMENT_BYTES)
        except OSError:
            data = b""
        host, _, port = parse_environment(data).get(_ADDRESS, "").rpartition(":")
        usable = port.isdecimal() and 0 < int(port) < 65536
        return (host.strip("[]") or "127.0.0.1", int(port)) if usable else ("127.0.0.1", PORT)


def _reading(communicator: RasCommunicator, inside: Mapping[int, int]) -> CommunicatorReading:
    return CommunicatorReading(
        monotonic_seconds=time.monotonic(),
        id=communicator.hash,
        size=communicator.size,
        ranks=tuple(_rank(each, inside) for each in communicator.ranks[:_MOST_RANKS]),
        silent=tuple(each.rank for each in communicator.missing_ranks[:_MOST_RANKS]),
    )


def _rank(rank: RasRank, inside: Mapping[int, int]) -> CommunicatorRankReading:
    return CommunicatorRankReading(
        rank=rank.rank,
        pid=inside.get(rank.pid),
        host=rank.host,
        launched=rank.launched,
        failed=bool(rank.status.async_error) or rank.status.abort_flag,
    )


def make(context: Context) -> RasSource:
    """For the registry."""
    return RasSource(context.watchlist, context.requests)
