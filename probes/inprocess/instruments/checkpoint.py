"""Writing checkpoints, in the loop or behind it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..layout import CODES
from .patching import Function, Patching, attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..track import Track

_CHECKPOINT = CODES["checkpoint"]
_BY_FRAMEWORK = (
    ("transformers.trainer", "Trainer", "_save_checkpoint"),
    ("lightning.pytorch.trainer.trainer", "Trainer", "save_checkpoint"),
    ("pytorch_lightning.trainer.trainer", "Trainer", "save_checkpoint"),
    ("deepspeed.runtime.engine", "DeepSpeedEngine", "save_checkpoint"),
    ("accelerate.accelerator", "Accelerator", "save_state"),
)
"""Module, class, method: what writes more than it gives to `torch.save`."""


class Checkpoint(Patching):
    """Patches what writes them. The part of an asynchronous one that runs in a thread calls the same
    function there, and is that thread's phase."""

    name = "checkpoint"

    def install(self) -> None:
        serialization = sys.modules["torch.serialization"]
        self._everywhere((serialization, self.torch), ("save",))
        self.later(
            "torch.distributed.checkpoint.state_dict_saver",
            lambda module: self._everywhere(
                (module, sys.modules["torch.distributed.checkpoint"]), ("save", "async_save")
            ),
        )
        self.later("safetensors.torch", lambda module: self._everywhere((module,), ("save_file",)))
        for module_name, class_name, method in _BY_FRAMEWORK:
            self.later(module_name, self._method(class_name, method))

    def _everywhere(self, owners: tuple[Any, ...], names: tuple[str, ...]) -> None:
        for name in names:
            original: Function = attributes(owners[0])[name]
            ours = self._saving(original)
            for owner in owners:
                if attributes(owner).get(name) is original:
                    self.put(owner, name, original, ours)

    def _method(self, class_name: str, method: str) -> Callable[[Any], None]:
        def patch(module: Any) -> None:
            owner = getattr(module, class_name, None)
            if owner is not None and method in attributes(owner):
                self.replace(owner, method, self._saving)

        return patch

    def _saving(self, original: Function) -> Function:
        return self.within(original, self._begin, self._end)

    def _begin(self, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> tuple[Track, int]:
        probe = self.probe
        self.calls += 1
        track = probe.track()
        if probe.loop_track():
            probe.steps.between()
        return track, track.enter(_CHECKPOINT)

    def _end(self, opened: tuple[Track, int], _result: Any) -> None:
        self.close(opened)
        if self.probe.loop_track():
            self.probe.steps.between_done()
