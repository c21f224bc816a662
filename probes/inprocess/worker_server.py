"""torch's own C++ server, which answers while a training thread holds the interpreter's lock.

It is private to torch and has its price: a pool of eight threads, or one for each core where there are
more. So it is started in ranks of a process group only, and not where the pool would be large, unless
``GPUTOP_WORKER_SERVER=1`` says so; ``=0`` keeps it off.
"""

from __future__ import annotations

import os
import sys

from .ending import at_exit
from .instrument import Instrument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .interface import ProbeLike

ENDING = ".torch.sock"
_MANY_CORES = 64
_ERROR = 2
"""torch's own levels: 0 information, 1 warning, 2 error."""


def start_when_distributed(probe: ProbeLike) -> None:
    """Start it as soon as this process has joined a process group with others in it."""

    def look() -> dict[str, object]:
        distributed = sys.modules.get("torch.distributed")
        # While the module is being imported, it does not have these yet.
        joined = getattr(distributed, "is_initialized", None)
        if distributed is not None and joined and joined() and distributed.get_world_size() > 1:
            probe.gauges.remove(look)
            probe.use(WorkerServer(probe))
        return {}

    probe.gauges.append(look)


class WorkerServer(Instrument):
    """Answers HTTP on a socket beside the page; its handlers dump the flight recorder, among others."""

    name = "worker-server"

    def install(self) -> None:
        import ctypes

        request = os.environ.get("GPUTOP_WORKER_SERVER", "")
        if request == "0":
            raise RuntimeError("switched off by GPUTOP_WORKER_SERVER=0")
        cores = len(os.sched_getaffinity(0))
        if cores > _MANY_CORES and request != "1":
            raise RuntimeError(f"it would run {cores} threads; GPUTOP_WORKER_SERVER=1 allows it")
        module = sys.modules.get("torch._C._distributed_c10d")
        kind = getattr(module, "_WorkerServer", None)
        if kind is None:
            raise RuntimeError("this torch has none")
        page = self.probe.page
        self._owner = os.getpid()
        self._file = page.name + ENDING
        self._remove_file()  # ours, from before an exec
        address = f"/proc/self/fd/{page.directory}/{self._file}"
        with _Quiet():
            server = kind(address)
        os.chmod(address, 0o600)
        at_exit(self._remove_file)
        # Never destroyed: that would log, and wait for a handler that may hang.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
        self.probe.tell(worker_server=os.path.join(os.path.dirname(page.path), self._file))

    def remove(self) -> None:
        """It cannot be stopped without waiting for it; nothing is lost by leaving it."""

    def _remove_file(self) -> None:
        if os.getpid() == self._owner:
            try:
                os.unlink(self._file, dir_fd=self.probe.page.directory)
            except OSError:
                return  # not there, or its directory is gone


class _Quiet:
    """While it is entered, torch logs errors only: the job's standard error is not ours."""

    def __enter__(self) -> None:
        import ctypes

        library = os.path.join(
            os.path.dirname(sys.modules["torch"].__file__ or ""), "lib/libc10.so"
        )
        self._level: Any = ctypes.c_int.in_dll(ctypes.CDLL(library), "FLAGS_caffe2_log_level")
        self._before = self._level.value
        self._level.value = max(self._before, _ERROR)

    def __exit__(self, *_error: object) -> None:
        self._level.value = self._before
