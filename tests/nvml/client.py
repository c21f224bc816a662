"""A child process with the real nvidia-ml-py on the simulated driver, asked one expression at a time.

The library that a process loads cannot be changed afterwards, so every test talks to a child.
Expressions see `p` (the pynvml module) and `gpu(index)`; structures come back as dictionaries.
"""

import ctypes
import json
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nvml.simulated import SimulatedNvml

ANSWER_SECONDS = 20


class NvmlFailure(Exception):
    """The call failed; the text is nvidia-ml-py's exception name, e.g. NVMLError_GpuIsLost."""


class Client:
    """One client of the simulated driver."""

    def __init__(self, node: SimulatedNvml) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", "from nvml.client import serve; serve()"],
            env={**node.env(), "PYTHONPATH": str(Path(__file__).parent.parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._child.kill()
        self._child.communicate()

    def ask(self, source: str) -> Any:
        """The value of an expression, or of `result` after several lines."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(source) + "\n")
        self._child.stdin.flush()
        ready, _, _ = select.select([self._child.stdout], [], [], ANSWER_SECONDS)
        line = self._child.stdout.readline() if ready else ""
        if not line:
            message = f"no answer to: {source}"
            raise AssertionError(message)
        answer: dict[str, Any] = json.loads(line)
        if "failure" in answer:
            raise NvmlFailure(answer["failure"])
        return answer["value"]


def _plain(value: Any) -> Any:
    """Whatever a call returns, as JSON can carry it."""
    if isinstance(value, ctypes.Union):
        return value.ullVal
    if isinstance(value, ctypes.Structure):
        return {name: _plain(getattr(value, name)) for name, *_ in value._fields_}
    if isinstance(value, ctypes._Pointer):
        return None  # an array of its own, which the calls return beside it
    if isinstance(value, ctypes._SimpleCData):
        return value.value
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (str, int, float, type(None))):
        return value
    return {name: _plain(item) for name, item in vars(value).items()}


def serve() -> None:
    """The child: read an expression a line, answer a line of JSON."""
    import pynvml

    names: dict[str, Any] = {"p": pynvml, "gpu": pynvml.nvmlDeviceGetHandleByIndex}
    for line in sys.stdin:
        source = json.loads(line)
        try:
            if "\n" in source:
                exec(source, names)  # noqa: S102 - the tests' own text
                answer = {"value": _plain(names["result"])}
            else:
                answer = {"value": _plain(eval(source, names))}
        except pynvml.NVMLError as error:
            answer = {"failure": type(error).__name__}
        print(json.dumps(answer), flush=True)
