"""The optimizers, and what belongs to them: gradient clipping and the scaler of mixed precision."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..instrument import ON
from ..layout import CODES
from .patching import Function, Patching, attributes

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from ..interface import ProbeLike
    from ..track import Track

_OPTIMIZER = CODES["optimizer"]


class Optimizer(Patching):
    """Global hooks before and after each optimizer's step.

    There is no hook when the step raises: what it leaves open is closed when it cannot be open any more.

    Args:
        probe: it reports to.
        met: called before the first step of each optimizer with it and the frame of its step.
    """

    name = "optimizer"
    counts_steps = 3

    def __init__(self, probe: ProbeLike, met: Callable[[Any, FrameType], None]) -> None:
        super().__init__(probe)
        self._met = met
        self._known: dict[int, None] = {}
        self._open: list[int] = []
        """Depths of the steps that have begun and not ended."""
        self._wrapper: CodeType | None = None
        self._hooked = False
        self._fired = 0
        self._spent = 0
        """What the hook before a step has taken, while it is timed."""

    def install(self) -> None:
        torch = self.torch
        optimizer = sys.modules["torch.optim.optimizer"]
        if not self._hooked:
            # For good: to take one out while torch goes through them would raise in the job's step.
            self._hooked = True
            optimizer.register_optimizer_step_pre_hook(self._before)
            optimizer.register_optimizer_step_post_hook(self._after)
        self.replace(
            optimizer.Optimizer,
            "__init__",
            lambda original: self.within(original, self._made, self.close),
        )
        scaler = torch.amp.grad_scaler.GradScaler
        self.replace(
            scaler,
            "step",
            lambda original: self.within(original, self._begin_scaled, self._end_scaled),
        )
        utils = torch.nn.utils
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            original: Function = attributes(utils.clip_grad)[name]
            ours = self.within(original, self._begin, self.close)
            for owner in (utils.clip_grad, utils):
                if attributes(owner).get(name) is original:
                    self.put(owner, name, original, ours)

    def unwind(self) -> None:
        """No step can be running in the loop now: close what one that raised has left open."""
        if self._open:
            self.probe.track().leave(self._open[0])
            self._open.clear()

    def _made(self, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
        self.probe.steps.trains = True

    def _begin(self, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> tuple[Track, int] | None:
        track = self.probe.loop_track()
        if track is None:
            return None
        self.calls += 1
        return track, track.enter(_OPTIMIZER)

    def _before(self, optimizer: Any, _args: object, _kwargs: object) -> None:
        if self.is_compiling() or self.state != ON:
            return
        timing = self.timing
        began = timing.now() if timing else 0
        try:
            probe = self.probe
            track = probe.claim_loop()
            if track is None:
                return
            self.calls += 1
            self._fired += 1
            if self._open or id(optimizer) not in self._known:
                self._look(optimizer, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            probe.steps.begin()
            self._open.append(track.enter(_OPTIMIZER))
            self._spent = timing.now() - began if timing else 0
        except Exception as error:
            self.fail(error)

    def _after(self, optimizer: Any, _args: object, _kwargs: object) -> None:
        if self.is_compiling():
            return
        timing, spent = self.timing, self._spent
        began = timing.now() if timing else 0
        try:
            probe = self.probe
            track = probe.loop_track()
            if track is None or not self._open:
                return
            moment = track.leave(self._open.pop())
            if self.state != ON:
                return
            probe.steps.optimizer_done(id(optimizer), moment)
            self._spent = 0
            if timing and spent:
                timing.add(spent, timing.now() - began)
        except Exception as error:
            self.fail(error)

    def _look(self, optimizer: Any, frame: FrameType) -> None:
        if self._open:
            self._forget_raised(frame)
        if id(optimizer) not in self._known:
            self._known[id(optimizer)] = None
            self._wrapper = frame.f_code
            self._met(optimizer, frame)

    def _forget_raised(self, frame: FrameType) -> None:
        # As many steps are running as their wrapper is on the stack; this one is among them.
        running = -1
        at: FrameType | None = frame
        while at is not None:
            running += at.f_code is self._wrapper
            at = at.f_back
        if running < len(self._open):
            self.probe.track().leave(self._open[max(running, 0)])
            del self._open[max(running, 0) :]

    def _begin_scaled(
        self, args: tuple[Any, ...], _kwargs: dict[str, Any]
    ) -> tuple[Track, int, int, int, object] | None:
        probe = self.probe
        track = probe.claim_loop() if args[0]._enabled else None
        if track is None:
            return None
        self.calls += 1
        probe.steps.begin()
        depth = track.enter(_OPTIMIZER)
        return track, depth, self._fired, id(args[1]), sys.exc_info()[1]

    def _end_scaled(self, opened: tuple[Track, int, int, int, object], _result: Any) -> None:
        track, depth, fired, optimizer, handled = opened
        while self._open and self._open[-1] > depth:
            self._open.pop()  # it has raised
        moment = track.leave(depth)
        if fired == self._fired and sys.exc_info()[1] is handled:
            self.probe.steps.optimizer_done(optimizer, moment, skipped=True)
