"""What the frameworks do that cannot be reported from torch alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..layout import CODES
from .patching import Function, Patching, attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..interface import ProbeLike
    from ..track import Track
    from .forward import Forward

_EVAL = CODES["eval"]
_LIGHTNING = ("lightning.pytorch", "pytorch_lightning")
_STEPS = {
    "training_step": True,
    "validation_step": False,
    "test_step": False,
    "predict_step": False,
}


class Frameworks(Patching):
    """Lightning calls a method of its module and not the module; and a framework's evaluation is one
    from its first to its last line, with what it makes of the results.

    Args:
        probe: it reports to.
        forward: is called for the forwards.
    """

    name = "frameworks"
    counts_steps = 1

    def __init__(self, probe: ProbeLike, forward: Forward) -> None:
        super().__init__(probe)
        self._forward = forward

    def install(self) -> None:
        for package in _LIGHTNING:
            self.later(f"{package}.strategies.strategy", self._strategy)
            self.later(
                f"{package}.loops.evaluation_loop", self._evaluation("_EvaluationLoop", "run")
            )
        self.later("transformers.trainer", self._evaluation("Trainer", "evaluate"))

    def _strategy(self, module: Any) -> None:
        for name, training in _STEPS.items():
            if name in attributes(module.Strategy):
                self.replace(module.Strategy, name, self._step(training))

    def _step(self, training: bool) -> Callable[[Function], Function]:
        forward = self._forward

        def begin(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> tuple[Track, int] | None:
            self.calls += 1
            return forward.begin(training, certain=True)

        return lambda original: self.within(original, begin, forward.end)

    def _evaluation(self, class_name: str, method: str) -> Callable[[Any], None]:
        def patch(module: Any) -> None:
            owner = getattr(module, class_name, None)
            if owner is not None and method in attributes(owner):
                self.replace(
                    owner,
                    method,
                    lambda original: self.within(original, self._evaluates, self._evaluated),
                )

        return patch

    def _evaluates(
        self, _args: tuple[Any, ...], _kwargs: dict[str, Any]
    ) -> tuple[Track, int] | None:
        probe = self.probe
        track = probe.loop_track()
        if track is None or not probe.steps.trains:
            return None
        self.calls += 1
        probe.steps.evaluating()
        return track, track.enter(_EVAL)

    def _evaluated(self, opened: tuple[Track, int], _result: Any) -> None:
        self.close(opened)
        self.probe.steps.evaluated()
