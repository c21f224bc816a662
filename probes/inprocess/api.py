"""What a job may call. All of it works, and does nothing, where the probe is not running."""

from __future__ import annotations

import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:  # spelled so because importing typing costs more than all of this
    from collections.abc import Callable
    from typing import Any, Self

    from .probe import Probe

_lock = threading.Lock()
_probe: Probe | None = None
_at_fork_registered = False


class Attached:
    """Whether the probe runs in this process, and if not, why."""

    __slots__ = ("reason", "running")

    def __init__(self, running: bool, reason: str = "") -> None:
        self.running = running
        self.reason = reason

    def __repr__(self) -> str:
        return f"Attached({self.running}, {self.reason!r})"

    def __bool__(self) -> bool:
        return self.running


def attach() -> Attached:
    """Start the probe in this process. The second time changes nothing.

    Never raises. Switched off by the environment variable ``GPUTOP_PROBE=0``.
    """
    global _probe, _at_fork_registered
    with _lock:
        if _probe is not None:
            return Attached(True)
        if os.environ.get("GPUTOP_PROBE", "").lower() in ("0", "off", "no", "false"):
            return Attached(False, "switched off by GPUTOP_PROBE")
        try:
            from .page import make_page
            from .probe import Probe

            probe = Probe(make_page())
            if not _at_fork_registered:
                os.register_at_fork(after_in_child=_in_child)
                _at_fork_registered = True
            probe.start()
            _probe = probe
        except Exception as error:
            return Attached(False, str(error) or type(error).__name__)
    from .after_import import after_import

    after_import("torch", _use_torch)
    return Attached(True)


def active() -> Probe | None:
    """The probe of this process, if it runs."""
    return _probe


def step(
    samples: float | None = None, tokens: float | None = None, loss: float | None = None
) -> None:
    """A training step is over. From the first call on, only these calls count as steps.

    Args:
        samples: how many samples it took.
        tokens: how many tokens.
        loss: as a number of the host; a tensor would have to be waited for, and is left out.
    """
    if _probe is not None:
        try:
            _probe.track()
            if _probe.loop_track():
                _probe.steps.explicit(_plain(samples), _plain(tokens), _plain(loss))
        except Exception as error:
            _probe.tell(trouble=f"gputop.step: {type(error).__name__}: {error}"[:200])


class phase:  # noqa: N801 - used like a function
    """A phase of the job's own, as a context manager or a decorator: ``with gputop.phase("rollout"):``.

    Args:
        name: one of the fixed phases, or any short name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._code = 0
        self._depths: list[int] = []

    def __enter__(self) -> Self:
        if _probe is not None:
            try:
                self._code = self._code or _probe.code(self._name)
                track = _probe.track()
                if _probe.loop_track():
                    _probe.steps.begin()
                    if self._name == "eval":
                        _probe.steps.evaluating()
                self._depths.append(track.enter(self._code))
            except Exception as error:
                _probe.tell(trouble=f"gputop.phase: {type(error).__name__}: {error}"[:200])
        return self

    def __exit__(self, *_error: object) -> None:
        if _probe is not None and self._depths:
            _probe.track().leave(self._depths.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        name = self._name

        @wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with phase(name):
                return function(*args, **kwargs)

        return within


def _plain(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _use_torch() -> None:
    if _probe is not None:
        try:
            from .instruments import use_torch

            use_torch(_probe)
        except Exception as error:
            _probe.tell(trouble=f"torch: {type(error).__name__}: {error}"[:200])


def _in_child() -> None:
    global _probe, _lock
    _lock = threading.Lock()  # another thread may have held it
    if _probe is not None:
        probe, _probe = _probe, None
        try:
            probe.leave()
        except Exception:
            return  # nobody to tell: the page is the parent's
