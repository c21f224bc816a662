"""What DistributedDataParallel measures of its own backward: how much of the all-reduce is not hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from ..instrument import ON, Off
from .patching import Patching

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import layout
    from ..interface import ProbeLike

_TIMES = {
    "avg_backward_compute_time": "backward_compute_ns",
    "avg_backward_comm_time": "backward_comm_ns",
    "avg_backward_compute_comm_overlap_time": "backward_overlap_ns",
}
"""torch's name → ours. It times the first ten iterations and then one in a hundred, asked or not."""
_ASKED_NANOSECONDS = 1_000_000_000
_FIRST_STEPS = 12
"""In which each step's end asks, until there is something."""


class Ddp(Patching):
    """Asks for it in the loop, between two steps: in another thread it would have to wait for the lock of a
    backward that hangs. Nothing is hooked into the communication, which would replace how it works."""

    name = "ddp"

    def __init__(self, probe: ProbeLike) -> None:
        super().__init__(probe)
        self._module: Callable[[], Any] | None = None
        self._asked = 0
        self._times: dict[str, int] = {}

    def install(self) -> None:
        if not self.torch.distributed.is_available():
            raise Off("this torch has no distributed part")

    def remove(self) -> None:
        super().remove()
        self._module = None
        if self._step_ended in self.probe.at_step_end:
            self.probe.at_step_end.remove(self._step_ended)

    def settled(self, module: Any) -> None:
        """The loop trains that module. It is asked only if DDP is around it, or in it."""
        kind = self.torch.nn.parallel.DistributedDataParallel
        found = next((each for each in module.modules() if isinstance(each, kind)), None)
        if found is not None and self.state == ON:
            self._module = ref(found)
            self.probe.at_step_end.append(self._step_ended)
            self.probe.ask(self._gauge)

    def _step_ended(self, step: layout.Step) -> None:
        try:
            early = not self._times and self.calls < _FIRST_STEPS
            if step.ended - self._asked < _ASKED_NANOSECONDS and not early:
                return
            self._asked = step.ended
            module = self._module() if self._module else None
            if module is not None:
                self.calls += 1
                reported = module._get_ddp_logging_data()
                self._times = {
                    ours: reported[name] for name, ours in _TIMES.items() if name in reported
                }
        except Exception as error:
            self.fail(error)

    def _gauge(self) -> dict[str, object]:
        return {"ddp": self._times} if self._times else {}
