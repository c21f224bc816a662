"""The forward passes: calls of the outermost modules, and of nothing inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..instrument import ON, Off
from ..layout import CODES
from .patching import Function, Patching, attributes
from .roots import children, find_roots

if TYPE_CHECKING:
    from types import FrameType

    from ..interface import ProbeLike
    from ..track import Track

_FORWARD, _EVAL, _BACKWARD = CODES["forward"], CODES["eval"], CODES["backward"]
_SLOT = "_compiled_call_impl"
"""Of a module: where torch puts what is to be called in its place after ``module.compile()``. It is not
pickled or copied, dynamo does not look at it, and unlike a hook nothing refuses a module that has it."""
_UNSEEN = 3
"""Backwards without a forward before what is called is looked for further inside."""
_DEEPEST = 2


class Forward(Patching):
    """Puts itself around the outermost modules, once an optimizer has shown which they are.

    Args:
        probe: it reports to.
        fed: called in the loop's thread when a forward begins, with whether it is an evaluation.
        settled: functions called there once, in a training forward, with the module.
    """

    name = "forward"
    counts_steps = 2

    def __init__(
        self,
        probe: ProbeLike,
        fed: Callable[[bool], None],
        settled: tuple[Callable[[Any], None], ...],
    ) -> None:
        super().__init__(probe)
        self._fed = fed
        self._settled = settled
        self._roots: list[Callable[[], Any]] = []
        self._depth = 0
        self._open = False
        self._seen = False
        self._unseen = 0
        self._evaluated = False
        self._trains_in_eval_mode = False
        self._has_settled = False
        self._left: list[Callable[[], Any]] = []
        """Modules that it was around when it was taken out."""

    def install(self) -> None:
        if not hasattr(self.torch.nn.Module, _SLOT):
            raise Off("torch has no place for it before 2.1")
        left, self._left = self._left, []
        self._wrap([module for reference in left if (module := reference()) is not None])

    def remove(self) -> None:
        super().remove()
        self._left = list(self._roots)
        self._unwrap()

    def _unwrap(self) -> None:
        for reference in self._roots:
            module = reference()
            ours = attributes(module).get(_SLOT) if module is not None else None
            if isinstance(ours, _Call):
                ours.take_out(module)
        self._roots.clear()

    def met(self, optimizer: Any, frame: FrameType) -> None:
        """An optimizer is about to take its first step."""
        if self.state == ON:
            trained = {id(each) for group in optimizer.param_groups for each in group["params"]}
            self._wrap(find_roots(self.torch.nn.Module, trained, frame))

    def search(self, frame: FrameType) -> None:
        """There seems to be no optimizer."""
        if self.state == ON and not self._roots:
            self._wrap(find_roots(self.torch.nn.Module, set(), frame))

    def backward_done(self) -> None:
        """A backward is over: there should have been a forward before it."""
        if self.state != ON or self._seen or not self._roots:
            self._seen = False
            self._unseen = 0
            return
        self._unseen += 1
        if self._unseen >= _UNSEEN:
            self._unseen = 0
            self._look_inside()

    def evaluates(self) -> bool:
        """Whether what runs now would be an evaluation."""
        if not self.torch.is_grad_enabled():
            return True
        if self._trains_in_eval_mode or not self._roots:
            return False
        modules = [reference() for reference in self._roots]
        return not any(module.training for module in modules if module is not None)

    def begin(self, training: bool, certain: bool = False) -> tuple[Track, int] | None:
        """A forward begins. Returns what ends it; ``None``: nothing is to be ended.

        Args:
            training: the module is in the mode for it.
            certain: whether it trains or not is reported by ``training`` alone.
        """
        probe = self.probe
        track = probe.loop_track()
        if track is None or self._open or self.state != ON:
            return None
        if track.top() == _BACKWARD:
            return None  # activations are computed anew
        self.calls += 1
        steps = probe.steps
        gradients = self.torch.is_grad_enabled()
        by_mode = not training and not self._trains_in_eval_mode
        evaluation = steps.trains and (not training if certain else by_mode or not gradients)
        self._fed(evaluation)
        if evaluation:
            steps.evaluating()
            self._evaluated = gradients
        else:
            self._seen = True
            self._evaluated = False
            steps.forward()
            if not self._has_settled and self._roots:
                self._has_settled = True
                module = self._roots[0]()
                for function in self._settled:
                    function(module)
        self._open = True
        return track, track.enter(_EVAL if evaluation else _FORWARD)

    def end(self, opened: tuple[Track, int], _result: Any = None) -> None:
        """It is over."""
        self._open = False
        track, depth = opened
        track.leave(depth)

    def backward_begins(self) -> None:
        """If it follows a forward in the mode for evaluation, that mode is no sign of one."""
        if self._evaluated:
            self._evaluated = False
            self._trains_in_eval_mode = True
            self._seen = True

    def _wrap(self, modules: list[Any]) -> None:
        known = {id(reference()) for reference in self._roots}
        for module in modules:
            if id(module) not in known:
                _Call(self, module, attributes(module).get(_SLOT))
                self._roots.append(ref(module))

    def _look_inside(self) -> None:
        # Compiled as part of a function, or never called as a whole.
        modules = [module for reference in self._roots if (module := reference()) is not None]
        self._depth += 1
        if self._depth > _DEEPEST:
            self.stop("off: the model's call is not seen: it may be compiled within a function")
            return
        again = [each for each in modules if not isinstance(attributes(each).get(_SLOT), _Call)]
        self._unwrap()
        self._wrap(again or [inner for each in modules for inner in children(each)])


class _Call:
    """What is called in the place of a module."""

    def __init__(self, forward: Forward, module: Any, before: Function | None) -> None:
        self._forward = forward
        self._before = before
        self._module: Callable[[], Any] = ref(
            module
        )  # not to keep it: a model is freed when the job lets go of it
        attributes(module)[_SLOT] = self

    def take_out(self, module: Any) -> None:
        """Leave the module as it was."""
        if self._before is None:
            del attributes(module)[_SLOT]
        else:
            attributes(module)[_SLOT] = self._before

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # a copy of the module has nothing of ours

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self._module()
        call = self._before or module._call_impl
        forward = self._forward
        opened = None
        timing = forward.timing
        began = timing.now() if timing else 0
        try:
            if not forward.is_compiling():
                opened = forward.begin(module.training)
        except Exception as error:
            forward.fail(error)
        if opened is None:
            return call(*args, **kwargs)
        before = timing.now() - began if timing else 0
        try:
            return call(*args, **kwargs)
        finally:
            began = timing.now() if timing else 0
            try:
                forward.end(opened)
            except Exception as error:
                forward.fail(error)
            if timing:
                timing.add(before, timing.now() - began)
