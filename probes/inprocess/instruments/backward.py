"""The backward passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..layout import CODES
from .patching import Patching

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..interface import ProbeLike
    from ..track import Track

_BACKWARD = CODES["backward"]


class Backward(Patching):
    """Patches `torch.autograd.backward`, which `Tensor.backward` and the frameworks end in.

    Args:
        probe: it reports to.
        begins: called in the loop's thread before each.
        done: called there after each.
    """

    name = "backward"
    counts_steps = 2

    def __init__(
        self, probe: ProbeLike, begins: Callable[[], None], done: Callable[[], None]
    ) -> None:
        super().__init__(probe)
        self._begins = begins
        self._done = done

    def install(self) -> None:
        self.replace(
            self.torch.autograd,
            "backward",
            lambda original: self.within(original, self._begin, self._end),
        )

    def _begin(self, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> tuple[Track, int] | None:
        probe = self.probe
        track = probe.claim_loop()
        if track is None or track.top() == _BACKWARD:
            return None  # inside another, as where activations are computed anew
        self.calls += 1
        self._begins()
        probe.steps.backward()
        return track, track.enter(_BACKWARD)

    def _end(self, opened: tuple[Track, int], _result: Any) -> None:
        track, depth = opened
        track.leave(depth)
        self.probe.steps.backward_done()
        self._done()
