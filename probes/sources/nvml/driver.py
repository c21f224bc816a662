"""NVIDIA's driver through NVML: its life, and one source for each GPU that it has.

Nothing is loaded or called on import. `NvmlDriver` initializes NVML on its own thread, where that may
hang, and hands over a source for each GPU and one for Xid events, each to be read on a thread of its
own. When the driver goes away (unloaded, updated, taken from a container) it is shut down as soon as
no thread is inside it, and tried again with growing pauses; the sources stay and get new handles.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...model.gpu_readings import DriverReading
from ..context import Context
from ..protocol import Source, SourceAbsent, SourceError
from ..watchlist import Watchlist
from .call import Answer, Calls, DriverGone, GpuLost
from .errors import NO_BINDING, silent, source_error
from .gpu import NvmlGpu
from .pcie import NvmlPcie, PcieRates
from .session import Gate, Session
from .topology import NvmlTopology
from .units import text, up_to, word
from .xid_events import NvmlEvents

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_CHECK_SECONDS = 5.0
_MOST_GPUS = 1024
"""Each gets a thread; more than that is no number of GPUs."""


class NvmlDriver:
    """The driver as a whole, and the one who adds the other NVML sources.

    Args:
        add_source: called once for each source, from the thread that reads this one.
        watchlist: reported which pids are on which GPU.
        clock: monotonic seconds.
        proc: where /proc is.
    """

    name = "nvml"

    def __init__(
        self,
        add_source: Callable[[Source], None],
        watchlist: Watchlist,
        clock: Callable[[], float] = time.monotonic,
        proc: Path = Path("/proc"),
    ) -> None:
        self._add_source = add_source
        self._watchlist = watchlist
        self._clock = clock
        self._proc = proc
        self._gate = Gate(clock)
        self._pcie = PcieRates()
        self._sources: list[Source] = []
        self._gpus = 0
        self._uncounted = ""
        """Why the driver did not say how many there are."""
        self._pcie_added = False
        self._versions: dict[str, Any] = {}
        self._missing: dict[str, str] = {}
        self._ending: Session | None = None
        self._error: SourceError = SourceError(self._gate.reason)
        self._retry_at = 0.0
        self._pause = _FIRST_PAUSE
        self._check_at = 0.0

    def read(self) -> tuple[DriverReading]:
        """Versions and number of GPUs.

        Raises:
            SourceAbsent: no library or no driver on this machine.
            SourceDenied: this user may not use it.
            SourceError: it was there, and is away now.
        """
        now = self._clock()
        session = self._gate.session
        if session is not None:
            self._check(session, now)
        if self._gate.session is None:
            self._start(now)
        if self._uncounted and not self._gpus:
            raise SourceError(f"the NVIDIA driver does not list its GPUs: {self._uncounted}")
        if self._pcie.wanted and not self._pcie_added:
            self._pcie_added = True
            self._add(NvmlPcie(self._gate, self._pcie, self._clock))
        return (
            DriverReading(
                monotonic_seconds=now,
                gpu_count=self._gpus,
                missing=self._missing,
                **self._versions,
            ),
        )

    def close(self) -> None:
        """Close all NVML sources, and NVML if no thread is inside it: on a thread, for these calls may
        hang too."""
        threading.Thread(target=self._end, name="nvml end", daemon=True).start()

    def _end(self) -> None:
        # Before the session ends, because what they give back is given to it.
        for source in self._sources:
            source.close()
        session = self._gate.shut("the monitor is ending") or self._ending
        self._ending = None
        if session is not None and not self._gate.inside:
            _shutdown(session.nvml)

    def _check(self, session: Session, now: float) -> bool:
        """Whether the driver is there. What the GPUs' own calls met is enough to go by; the driver
        itself is asked only now and then."""
        if session.answered:
            self._pause = _FIRST_PAUSE
        if session.gone is None and now >= self._check_at:
            self._check_at = now + _CHECK_SECONDS
            try:
                self._count(session)
            except DriverGone as error:
                session.gone = error
        if session.gone is not None:
            self._lose(self._source_error(session.nvml, session.gone.code), now)
        elif self._gpus and len(session.silent) >= self._gpus:
            reason = next(iter(session.silent.values()))
            self._lose(silent(reason), now)
        return self._gate.session is session

    def _lose(self, error: SourceError, now: float) -> None:
        self._ending = self._gate.shut(error.reason)
        self._fail(error, now)

    def _fail(self, error: SourceError, now: float) -> None:
        self._error = error
        self._gate.reason = error.reason
        self._retry_at = now + self._pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _start(self, now: float) -> None:
        if now < self._retry_at:
            raise self._error
        if self._ending is not None:
            if self._gate.inside:
                inside = ", ".join(sorted(self._gate.inside))
                raise SourceError(f"{self._error.reason}; waiting for {inside} to come out of it")
            _shutdown(self._ending.nvml)
            self._ending = None
        try:
            session = self._initialize()
        except SourceError as error:
            self._fail(error, self._clock())
            raise
        # Open before the sources are there, which may be read at once.
        self._gate.session = session
        self._check_at = 0.0
        if not self._check(session, now):
            raise self._error

    def _initialize(self) -> Session:
        try:
            nvml: Any = importlib.import_module("pynvml")
        except ImportError as error:
            raise SourceAbsent(NO_BINDING) from error
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise self._source_error(nvml, error.value) from error
        try:
            self._describe(nvml)
        except DriverGone as error:
            _shutdown(nvml)
            raise self._source_error(nvml, error.code) from error
        except GpuLost as error:
            _shutdown(nvml)
            raise SourceError(str(error)) from error
        return Session(nvml)

    def _describe(self, nvml: Any) -> None:
        calls = Calls(nvml, None, self._clock)
        self._versions, self._missing = {}, {}
        for field, answer in (
            ("driver_version", calls.run("driver", nvml.nvmlSystemGetDriverVersion).then(text)),
            ("nvml_version", calls.run("nvml", nvml.nvmlSystemGetNVMLVersion).then(text)),
            (
                "cuda_version",
                calls.run("cuda", nvml.nvmlSystemGetCudaDriverVersion_v2)
                .then(word)
                .then(lambda number: Answer(f"{number // 1000}.{number % 1000 // 10}")),
            ),
        ):
            if answer.value is None:
                self._missing[field] = answer.reason
            else:
                self._versions[field] = answer.value

    def _count(self, session: Session) -> None:
        """Add a source for each GPU not seen before. One that is gone keeps its own."""
        nvml = session.nvml
        try:
            calls = Calls(nvml, None, self._clock)
            counted: Answer[Any] = calls.run("count", nvml.nvmlDeviceGetCount)
        except GpuLost as error:
            counted = Answer(None, str(error))
        answer = counted.then(up_to(_MOST_GPUS))
        self._uncounted = "" if answer.value is not None else answer.reason
        if answer.value is None:
            self._check_at = min(self._check_at, self._clock() + _FIRST_PAUSE)
            return
        first = self._gpus == 0
        for index in range(self._gpus, answer.value):
            self._add(NvmlGpu(index, self._gate, self._watchlist, self._pcie, self._clock))
        self._gpus = max(self._gpus, answer.value)
        if first and self._gpus:
            self._add(NvmlEvents(self._gate, lambda: self._gpus, self._clock))
            self._add(NvmlTopology(self._gate, lambda: self._gpus, self._clock))

    def _source_error(self, nvml: Any, code: int) -> SourceError:
        return source_error(nvml, code, was_there=self._gpus > 0, proc=self._proc)

    def _add(self, source: Source) -> None:
        self._sources.append(source)
        self._add_source(source)


def _shutdown(nvml: Any) -> None:
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        # Whatever it says, there is nothing left to shut down.
        return


def make(context: Context) -> NvmlDriver:
    """For the registry."""
    return NvmlDriver(context.add, context.watchlist)
