"""Xid errors as the driver reports them to whoever waits: from the start of the monitor on."""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ...model.gpu_readings import XidReading
from ...model.missing_reasons import NO_PERMISSION, NOT_OFFERED, NOT_SUPPORTED
from ..protocol import SourceDenied, SourceError, SourceUnsupported
from .call import Calls, GpuLost
from .session import Gate, Session
from .units import text, up_to

_XID = 0x8
_KEPT = 50
_FIRST_WAIT_MS = 5
_MOST_AT_ONCE = 64
_AGAIN_SECONDS = 10.0
_TIMEOUT = 10
_HIGHEST_XID = 0xFFFF


class NvmlEvents:
    """The event set of all GPUs. Events queue up in it between two readings, so waiting is short."""

    name = "nvml events"

    def __init__(self, gate: Gate, count: Callable[[], int], clock: Callable[[], float]) -> None:
        self._gate = gate
        self._count = count
        self._clock = clock
        self._session: Session | None = None
        self._set: Any = None
        self._again_at = 0.0
        self._error: SourceError | None = None
        self._gpus: dict[int, tuple[int, str | None]] = {}
        self._seen: deque[XidReading] = deque(maxlen=_KEPT)

    def read(self) -> tuple[XidReading, ...]:
        """The last 50 Xid errors since the start, oldest first.

        Raises:
            SourceError: there is no driver, or it does not let itself be waited on.
            SourceUnsupported: no GPU here reports them.
            SourceDenied: this user may not wait for them.
        """
        with self._gate.enter(self.name) as session:
            if session is not self._session:
                # The old set died with its session.
                self._session, self._set, self._again_at = session, None, 0.0
            if self._clock() >= self._again_at:
                self._set_up(session)
            if self._set is None and self._error is not None:
                raise self._error
            self._drain(session)
        return tuple(self._seen)

    def close(self) -> None:
        """Free the event set, unless a call in another thread still holds it."""
        events, self._set = self._set, None
        session = self._session
        inside = self.name in self._gate.inside
        if events is not None and session is self._gate.session and session and not inside:
            self._free(session, events)

    def _set_up(self, session: Session) -> None:
        """Make the set, or register those GPUs that could not be registered before."""
        self._again_at = self._clock() + _AGAIN_SECONDS
        if self._set is None:
            calls = Calls(session.nvml, None, self._clock)
            created = calls.run("create", session.nvml.nvmlEventSetCreate)
            self._gpus = {}
            if created.value is None:
                self._error = _error(created.reason)
                return
            self._set = created.value
        known = {index for index, _ in self._gpus.values()}
        reasons = [
            self._register(session, index) for index in range(self._count()) if index not in known
        ]
        if not self._gpus:
            self._free(session, self._set)
            self._set = None
            self._error = _error(reasons[0] if reasons else "there is no GPU")

    def _register(self, session: Session, index: int) -> str:
        """Have Xid errors of this GPU put into the set; returns why that could not be done."""
        nvml, events = session.nvml, self._set
        calls = Calls(nvml, None, self._clock)
        try:
            handle = calls.run("handle", lambda: nvml.nvmlDeviceGetHandleByIndex(index))
            if handle.value is None:
                return handle.reason
            calls.handle = handle.value
            supported = calls.ask("nvmlDeviceGetSupportedEventTypes")
            if supported.value is not None and not supported.value & _XID:
                return NOT_SUPPORTED
            done = calls.run("register", lambda: _register(nvml, handle.value, events))
            if done.value is None:
                return done.reason
            uuid = calls.ask("nvmlDeviceGetUUID").then(text).value
        except GpuLost as error:
            return str(error)
        self._gpus[_address(handle.value)] = (index, uuid)
        return ""

    def _drain(self, session: Session) -> None:
        nvml = session.nvml
        wait = _FIRST_WAIT_MS
        for _ in range(_MOST_AT_ONCE):
            try:
                data = nvml.nvmlEventSetWait_v2(self._set, wait)
            except nvml.NVMLError as error:
                if error.value != _TIMEOUT:
                    self._broken(session, error.value)
                return
            wait = 0
            self._note(data)

    def _broken(self, session: Session, code: int) -> None:
        """The set cannot be waited on now: a lost GPU in it is enough. Make a new one later."""
        self._free(session, self._set)
        self._set, self._again_at = None, self._clock() + _AGAIN_SECONDS
        try:
            reason = Calls(session.nvml, None, self._clock).judge("wait", code).reason
        except GpuLost as error:
            reason = str(error)
        self._error = _error(reason)
        raise self._error

    def _note(self, data: Any) -> None:
        if not int(data.eventType) & _XID:
            return
        code = up_to(_HIGHEST_XID)(int(data.eventData)).value
        if code is None:
            return
        index, uuid = self._gpus.get(_address(data.device), (None, None))
        self._seen.append(
            XidReading(
                time_seconds=time.time(),
                code=code,
                gpu_index=index,
                gpu_uuid=uuid,
            )
        )

    def _free(self, session: Session, events: Any) -> None:
        try:
            session.nvml.nvmlEventSetFree(events)
        except session.nvml.NVMLError:
            # It died with whatever went wrong.
            return


def _error(reason: str) -> SourceError:
    if reason == NO_PERMISSION:
        return SourceDenied("no permission to wait for Xid errors")
    if reason in (NOT_SUPPORTED, NOT_OFFERED):
        return SourceUnsupported("no GPU here reports Xid errors")
    return SourceError(reason)


def _register(nvml: Any, handle: Any, events: Any) -> bool:
    nvml.nvmlDeviceRegisterEvents(handle, _XID, events)
    return True


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
