"""Collectives that the job or a framework calls itself. Those of DDP are part of its backward."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from .. import layout
from ..groups import Groups
from ..instrument import Off
from ..rank_variables import ranks_in
from .patching import Function, Patching, attributes

if TYPE_CHECKING:
    from ..interface import ProbeLike
    from ..track import Track

    _Opened = tuple[int, Track | None, int]
    """Number of the group, track, depth."""

_COMM = layout.CODES["comm"]
_OPERATIONS = {
    "all_reduce": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "all_gather": "all_gather",
    "all_gather_single": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "all_gather_coalesced": "all_gather",
    "_all_gather_base": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_single": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "all_to_all": "all_to_all",
    "all_to_all_single": "all_to_all",
    "barrier": "barrier",
    "monitored_barrier": "barrier",
    "send": "send",
    "recv": "recv",
    "gather": "gather",
    "scatter": "scatter",
    "batch_isend_irecv": "batch_isend_irecv",
}
"""Function → operation. Not `isend` and `irecv`: torch compares them by identity."""


class Comm(Patching):
    """Patches the functions of `torch.distributed`, and tells of the groups that there are.

    A collective counts as returned when its call has come back, and an asynchronous one when somebody has
    waited for it, or has let go of it. To wait is in the phase ``comm`` again. Whether the network is done
    with it is not asked: on a GPU that would disturb the capture of a graph.
    """

    name = "comm"

    def __init__(self, probe: ProbeLike) -> None:
        super().__init__(probe)
        self._groups = Groups(probe.page)
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._by_number: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._reported: list[dict[str, object]] = []
        self._pending: dict[int, tuple[ref[Any], int]] = {}
        """Identity of what is to be waited for → itself, as long as the job has it, and the group."""

    def install(self) -> None:
        distributed = self.torch.distributed
        if not distributed.is_available():
            raise Off("this torch has no distributed part")
        self._c10d: Any = sys.modules["torch.distributed.distributed_c10d"]
        for name, operation in _OPERATIONS.items():
            if name in attributes(self._c10d):
                self._everywhere(name, self._collective(layout.OPERATIONS.index(operation)))
        for name in ("init_process_group", "new_group"):
            self._everywhere(name, self._making)
        self.replace(
            self._c10d.Work,
            "wait",
            lambda original: self.within(original, self._begin_wait, self._end_wait),
        )
        self.probe.ask(self._gauge)
        if distributed.is_initialized():
            self._meet_groups()

    def remove(self) -> None:
        super().remove()
        self._pending.clear()

    def _everywhere(self, name: str, make: Callable[[Function], Function]) -> None:
        original: Function = attributes(self._c10d)[name]
        ours = make(original)
        for owner in (self._c10d, self.torch.distributed):
            if attributes(owner).get(name) is original:
                self.put(owner, name, original, ours)

    def _making(self, original: Function) -> Function:
        return self.within(
            original, lambda _args, _kwargs: True, lambda _opened, _result: self._meet_groups()
        )

    def _meet_groups(self) -> None:
        c10d = self._c10d
        before = len(self._reported)
        for group in c10d._world.pg_map:
            if group not in self._numbers:
                number = len(self._reported)
                self._numbers[group] = number
                self._by_number[number] = group
                name = getattr(group, "group_desc", "") or getattr(group, "group_name", "")
                ranks = list(c10d._world.pg_group_ranks.get(group, ()))
                self._reported.append({"name": str(name)[:64], "ranks": ranks})
        if len(self._reported) == before:
            return
        self.probe.tell(groups=self._reported[: layout.GROUPS])
        if c10d.is_initialized():
            rank = c10d.get_rank()
            # What the variables say now: the job may have set them itself, or inherited another rank's.
            named = ranks_in(os.environ)
            local_rank = named.local_rank if named is not None and named.rank == rank else None
            self.probe.tell(rank=rank, local_rank=local_rank, world_size=c10d.get_world_size())

    def _collective(self, operation: int) -> Callable[[Function], Function]:
        def make(original: Function) -> Function:
            names = list(inspect.signature(original).parameters)
            group_at = names.index("group") if "group" in names else len(names)

            def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Opened | None:
                group = args[group_at] if len(args) > group_at else kwargs.get("group")
                return self._begin(operation, group, args[0] if args else None)

            return self.within(original, begin, self._end)

        return make

    def _begin(self, operation: int, group: Any, data: Any) -> _Opened | None:
        self.calls += 1
        # The threads of autograd are not Python's and take no slot: a new one would be made each time.
        track = self.probe.known_track()
        if track is not None and track.top() == _COMM:
            return None  # one collective that is made of another
        if group is None:
            group = self._c10d._world.default_pg
        number = self._numbers.get(group, layout.GROUPS) if group is not None else layout.GROUPS
        self._groups.launch(number, operation, _size(data))
        return number, track, track.enter(_COMM) if track is not None else 0

    def _end(self, opened: _Opened, result: Any) -> None:
        number, track, depth = opened
        if track is not None:
            track.leave(depth)
        work = result[-1] if result.__class__ is list and result else result
        if isinstance(work, self._c10d.Work):
            self._launched(work, number)
        else:
            self._groups.come_back(number)

    def _launched(self, work: Any, number: int) -> None:
        """Asynchronously: the host has gone on."""
        key = id(work)
        self._pending[key] = ref(work, lambda _gone: self._let_go(key)), number
        self._groups.go_on(number)

    def _let_go(self, key: int) -> None:
        # Called wherever the job drops it, perhaps while the interpreter ends.
        try:
            pending = self._pending.pop(key, None)
            if pending is not None:
                self._groups.wait(pending[1])
                self._groups.come_back(pending[1])
        except Exception as error:
            self.fail(error)

    def _begin_wait(self, args: tuple[Any, ...], _kwargs: dict[str, Any]) -> _Opened | None:
        self.calls += 1
        track = self.probe.known_track()
        inside = track is None or track.top() == _COMM
        pending = self._pending.pop(id(args[0]), None)
        if pending is None and inside:
            return None
        number = layout.GROUPS if pending is None else pending[1]
        self._groups.wait(number)
        if track is None or inside:
            return number, None, 0
        return number, track, track.enter(_COMM)

    def _end_wait(self, opened: _Opened, _result: Any) -> None:
        number, track, depth = opened
        if track is not None:
            track.leave(depth)
        self._groups.come_back(number)

    def _gauge(self) -> dict[str, object]:
        for number, group in tuple(self._by_number.items()):
            try:
                self._groups.store_sequence(number, group._get_sequence_number_for_group())
            except RuntimeError:
                continue  # its back end counts nothing
        return {}


def _size(data: Any) -> int:
    if type(data) in (list, tuple) and data:
        return len(data) * _size(data[0])
    try:
        return int(data.numel() * data.element_size())
    except AttributeError:
        return 0
