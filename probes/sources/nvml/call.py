"""The one edge where an NVML call becomes a value, or ``None`` with the reason in words.

Three kinds of failure leave it in three ways. What concerns one value is an `Answer` without a value.
`GpuLost` ends the reading of this GPU, `DriverGone` that of all GPUs. Nothing else is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, cast

import msgspec

from ...model.driver_errors import OF_THE_DEVICE, driver_says, is_bad_state
from ...model.missing_reasons import LOST, NO_PERMISSION, NOT_OFFERED, NOT_SUPPORTED

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

NEVER = math.inf

_UNINITIALIZED, _NOT_SUPPORTED, _NO_PERMISSION, _UNKNOWN = 1, 3, 4, 999
_DRIVER_NOT_LOADED, _FUNCTION_NOT_FOUND, _GPU_IS_LOST = 9, 13, 15
_LIB_RM_VERSION_MISMATCH, _ARGUMENT_VERSION_MISMATCH, _DEPRECATED = 18, 25, 26

_DRIVER_GONE = frozenset({_UNINITIALIZED, _DRIVER_NOT_LOADED, _LIB_RM_VERSION_MISMATCH})

# Why a code is not asked for again, and for how many seconds. What a chip supports can change (MIG,
# fabric manager), so that is looked at again now and then; a missing symbol never comes.
_REMEMBERED: dict[int, tuple[str, float]] = {
    _NOT_SUPPORTED: (NOT_SUPPORTED, 600.0),
    _FUNCTION_NOT_FOUND: (NOT_OFFERED, NEVER),
    _ARGUMENT_VERSION_MISMATCH: (NOT_OFFERED, NEVER),
    _DEPRECATED: (NOT_OFFERED, NEVER),
    _NO_PERMISSION: (NO_PERMISSION, 10.0),
}

_EVERY_GPU_ANSWERS = frozenset(
    {
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetName",
        "nvmlDeviceGetPciInfo",
        "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetComputeRunningProcesses",
    }
)
"""Calls that fail on a GPU in a bad state only. Others have failed with *Unknown Error* on healthy
ones, as some drivers do where they mean *not supported*."""


class GpuLost(Exception):
    """The driver said that this GPU is lost, by ``code``, or does not know it any more."""

    def __init__(self, code: int | None = None) -> None:
        super().__init__(LOST)
        self.code = code


class DriverGone(Exception):
    """The driver as a whole is gone; ``code`` is what NVML returned."""

    def __init__(self, code: int) -> None:
        super().__init__(driver_says(code))
        self.code = code


class Answer(msgspec.Struct, Generic[T_co], frozen=True, gc=False):
    """A value, or ``None`` and the reason."""

    value: T_co | None
    reason: str = ""

    def then(self, rule: Callable[[T_co], Answer[U]]) -> Answer[U]:
        """What ``rule`` makes of the value; without one the reason stays."""
        return Answer(None, self.reason) if self.value is None else rule(self.value)


class Fields:
    """Values by field name of a reading, and the reasons of those that are missing."""

    __slots__ = ("missing", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.missing: dict[str, str] = {}

    def put(self, field: str, answer: Answer[T]) -> T | None:
        """Note the answer under ``field`` and return its value."""
        if answer.value is None:
            self.missing[field] = answer.reason
        else:
            self.values[field] = answer.value
        return answer.value

    def absent(self, reason: str, *fields: str) -> None:
        """All of ``fields`` are missing for the same reason."""
        self.missing.update(dict.fromkeys(fields, reason))


class Calls:
    """Calls about one device. Used from one thread; remembers what need not be asked again."""

    def __init__(self, nvml: Any, handle: Any, clock: Callable[[], float]) -> None:
        self.nvml = nvml
        self.handle = handle
        self._clock = clock
        self._refused: dict[Hashable, tuple[str, float]] = {}
        self.answered = False
        """Something was answered, if only with ``not supported``, since `begin`."""
        self.failure = ""
        """The last reason for which the driver did not answer since `begin`."""
        self.failure_code: int | None = None
        self.bad_state: dict[str, int] = {}
        """Since `begin`: call that failed as on a GPU in a bad state → its code."""

    def begin(self) -> None:
        """A new reading begins."""
        self.answered = False
        self.failure = ""
        self.failure_code = None
        self.bad_state = {}

    def ask(self, function: str, *arguments: int) -> Answer[Any]:
        """What the binding's ``function`` says of the device."""
        key = (function, *arguments)
        if key in self._refused and (refused := self.refusal(key)):
            return Answer(None, refused)
        call = getattr(self.nvml, function, None)
        if call is None:
            return self.refuse(key, NOT_OFFERED)
        try:
            value = call(self.handle, *arguments)
        except Exception as error:  # noqa: BLE001 - whatever the binding makes of what it was given
            return self.failed(key, error)
        self.answered = True
        return Answer(value)

    def run(self, key: Hashable, call: Callable[[], T]) -> Answer[T]:
        """The same for a call that needs more than a handle and numbers."""
        refused = self.refusal(key)
        if refused:
            return Answer(None, refused)
        try:
            value = call()
        except Exception as error:  # noqa: BLE001 - as in `ask`
            return self.failed(key, error)
        self.answered = True
        return Answer(value)

    def first(self, *questions: tuple[str, *tuple[int, ...]]) -> Answer[Any]:
        """The first answer with a value, else the last one."""
        answer: Answer[Any] = Answer(None, NOT_OFFERED)
        for function, *arguments in questions:
            answer = self.ask(function, *arguments)
            if answer.value is not None:
                break
        return answer

    def refusal(self, key: Hashable) -> str:
        """Why ``key`` is not to be asked for now; empty: ask."""
        refused = self._refused.get(key)
        if refused is None:
            return ""
        reason, until = refused
        if self._clock() < until:
            return reason
        del self._refused[key]
        return ""

    def refuse(self, key: Hashable, reason: str, seconds: float = NEVER) -> Answer[Any]:
        """Do not ask for ``key`` again for so long."""
        self._refused[key] = (reason, self._clock() + seconds)
        return Answer(None, reason)

    def forget(self) -> None:
        """Ask for everything again."""
        self._refused.clear()

    def failed(self, key: Hashable, error: Exception) -> Answer[Any]:
        """The answer that an error of the binding stands for."""
        if isinstance(error, self.nvml.NVMLError):
            code = getattr(error, "value", _UNKNOWN)
            return self.judge(key, code if isinstance(code, int) else _UNKNOWN)
        self.answered = True
        if isinstance(error, UnicodeDecodeError):
            return Answer(None, "driver gave text that is no UTF-8")
        return Answer(None, f"driver gave what cannot be read ({type(error).__name__})")

    def judge(self, key: Hashable, code: int) -> Answer[Any]:
        """The answer that a return code other than success stands for.

        Raises:
            GpuLost: this GPU is lost.
            DriverGone: the driver is no longer there or not the one of the library.
        """
        if code == _GPU_IS_LOST:
            raise GpuLost(code)
        if code in _DRIVER_GONE:
            raise DriverGone(code)
        if code in _REMEMBERED:
            self.answered = True
            return self.refuse(key, *_REMEMBERED[code])
        self.failure, self.failure_code = driver_says(code), code
        name = _name(key)
        if code in OF_THE_DEVICE or (name in _EVERY_GPU_ANSWERS and is_bad_state(code)):
            self.bad_state.setdefault(name, code)
        return Answer(None, self.failure)


def _name(key: Hashable) -> str:
    """Of what was called."""
    if isinstance(key, str):
        return key
    name, *_ = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
    return name if isinstance(name, str) else f"field {name}"
