"""Collectives that the job or a framework calls itself. Those of DDP are part of its backward."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from .. import layout
from ..groups import Groups
from ..instrument import ON, Off
from .patching import Function, Patching, attributes

if TYPE_CHECKING:
    from ..probe import Probe
    from ..track import Track

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

    A collective counts as returned when its call has come back: an asynchronous one at once. To wait
    for it is in the phase ``comm`` again.
    """

    name = "comm"

    def __init__(self, probe: Probe) -> None:
        super().__init__(probe)
        self._groups = Groups(probe.page)
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._by_number: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._told: list[dict[str, object]] = []

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
            lambda original: self.within(original, self._begin_wait, self.close),
        )
        self.probe.gauges.append(self._gauge)
        if distributed.is_initialized():
            self._meet_groups()

    def _everywhere(self, name: str, make: Callable[[Function], Function]) -> None:
        original: Function = attributes(self._c10d)[name]
        ours = make(original)
        for owner in (self._c10d, self.torch.distributed):
            if attributes(owner).get(name) is original:
                self.put(owner, name, original, ours)

    def _making(self, original: Function) -> Function:
        return self.within(original, lambda _args: True, lambda _opened: self._meet_groups())

    def _meet_groups(self) -> None:
        c10d = self._c10d
        before = len(self._told)
        for group in c10d._world.pg_map:
            if group not in self._numbers:
                number = len(self._told)
                self._numbers[group] = number
                self._by_number[number] = group
                name = getattr(group, "group_desc", "") or getattr(group, "group_name", "")
                ranks = list(c10d._world.pg_group_ranks.get(group, ()))
                self._told.append({"name": str(name)[:64], "ranks": ranks})
        if len(self._told) == before:
            return
        self.probe.tell(groups=self._told[: layout.GROUPS])
        if c10d.is_initialized():
            self.probe.tell(rank=c10d.get_rank(), world_size=c10d.get_world_size())

    def _collective(self, operation: int) -> Callable[[Function], Function]:
        is_compiling = self.is_compiling

        def make(original: Function) -> Function:
            names = list(inspect.signature(original).parameters)
            group_at = names.index("group") if "group" in names else len(names)

            @wraps(original)
            def ours(*args: Any, **kwargs: Any) -> Any:
                # First, so that dynamo sees nothing of the rest.
                if is_compiling() or self.state != ON:
                    return original(*args, **kwargs)
                try:
                    group = args[group_at] if len(args) > group_at else kwargs.get("group")
                    opened = self._begin(operation, group, args[0] if args else None)
                except Exception as error:
                    self.fail(error)
                    opened = None
                if opened is None:
                    return original(*args, **kwargs)
                try:
                    return original(*args, **kwargs)
                finally:
                    try:
                        self._end(*opened)
                    except Exception as error:
                        self.fail(error)

            return ours

        return make

    def _begin(self, operation: int, group: Any, data: Any) -> tuple[int, Track | None, int] | None:
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

    def _end(self, number: int, track: Track | None, depth: int) -> None:
        if track is not None:
            track.leave(depth)
        self._groups.come_back(number)

    def _begin_wait(self, _args: tuple[Any, ...]) -> tuple[Track, int] | None:
        track = self.probe.known_track()
        if track is None or track.top() == _COMM:
            return None
        self.calls += 1
        return track, track.enter(_COMM)

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
