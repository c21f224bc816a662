"""A simulated GPU node for tests: a state file, the environment to use it, and its call counts."""

import os
import struct
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from .build import library
from .keys import PROFILES, check_key

Value = str | int | float | bool

_HEADER_BYTES = 80
_RECORD = struct.Struct("64siiQ")
_NO_GPU = -1


class SimulatedNvml:
    """One simulated node. Give `env()` to a process and change the node while it runs.

    State keys are those of README.md; `{"gpu.3.lost": True}` and the like override the profile.
    """

    def __init__(
        self,
        profile: str = "h100x8",
        overrides: dict[str, Value] | None = None,
        *,
        directory: Path | None = None,
        old_driver: bool = False,
    ) -> None:
        self._profile_path = _profile_path(profile)
        self._lines: dict[str, Value] = _checked(overrides or {})
        self.old_driver = old_driver
        self._owned = None if directory else tempfile.TemporaryDirectory(prefix="gputop-nvml-")
        self.directory = directory or Path(self._owned.name if self._owned else ".")
        self.directory.mkdir(parents=True, exist_ok=True)
        self.state_path = self.directory / "node.state"
        self.counts_path = self.directory / "calls"
        self._write()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the files, if the directory was not given by the caller."""
        if self._owned:
            self._owned.cleanup()

    def env(self) -> dict[str, str]:
        """The environment of a process that shall see this node instead of the real driver."""
        paths = [str(library(old=self.old_driver)), os.environ.get("LD_LIBRARY_PATH", "")]
        return {
            **os.environ,
            "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
            "GPUTOP_SIM_STATE": str(self.state_path),
            "GPUTOP_SIM_COUNTS": str(self.counts_path),
        }

    def set(self, lines: dict[str, Value] | None = None, **more: Value) -> None:
        """Add or change state lines; keyword names write `__` for the dots of a key."""
        added = {**(lines or {}), **{key.replace("__", "."): more[key] for key in more}}
        self._lines.update(_checked(added))
        self._write()

    def unset(self, *keys: str) -> None:
        """Take overrides back: the profile's line holds again."""
        for key in keys:
            self._lines.pop(key, None)
        self._write()

    def lose(self, gpu: int) -> None:
        """The GPU falls off the bus: every call for it answers GPU_IS_LOST."""
        self.set({f"gpu.{gpu}.lost": True})

    def find(self, gpu: int) -> None:
        """The lost GPU answers again."""
        self.unset(f"gpu.{gpu}.lost")

    def fault(self, function: str, gpu: int | str, error: str) -> None:
        """`function` (or "*") fails for `gpu` (an index, "*" or "system"); "none" ends it."""
        self.set({f"fault.{function}.{gpu}": error})

    def delay(self, function: str, gpu: int | str, seconds: float) -> None:
        """`function` blocks that long for `gpu`; 0 ends it, also for calls already blocked."""
        self.set({f"delay.{function}.{gpu}": seconds})

    def xid(self, gpu: int, code: int) -> None:
        """The driver reports an Xid; the same code again is a new event."""
        self.set({f"gpu.{gpu}.xid": f"{code} event={time.monotonic_ns()}"})

    def freeze(self, seconds: float) -> None:
        """Stop the node's clock at this time; call again to move it."""
        self.set({"clock": f"frozen {seconds!r}"})

    def process(self, gpu: int, slot: int, pid: int, **words: Value) -> None:
        """Put a process on the GPU, e.g. `process(0, 1, pid, memory="8GiB", sm=40)`."""
        line = " ".join(f"{word}={value}" for word, value in {"pid": pid, **words}.items())
        self.set({f"gpu.{gpu}.process.{slot}": line})

    def calls(self) -> dict[tuple[str, int | None], int]:
        """How often each function was called so far, by GPU (None: a call of no GPU)."""
        counts: Counter[tuple[str, int | None]] = Counter()
        if not self.counts_path.exists():
            return counts
        data = self.counts_path.read_bytes()
        (claimed,) = struct.unpack_from("Q", data)
        last = min(len(data), _HEADER_BYTES + claimed * _RECORD.size)
        for name, gpu, _, calls in _RECORD.iter_unpack(data[_HEADER_BYTES:last]):
            if calls:
                counts[name.split(b"\0")[0].decode(), None if gpu == _NO_GPU else gpu] += calls
        return dict(counts)

    def _write(self) -> None:
        """Replace the state in one step: a reader sees the old node or the new one."""
        text = [f"include = {self._profile_path}"]
        text += [f"{key} = {_formatted(value)}" for key, value in self._lines.items()]
        unfinished = self.state_path.with_suffix(".new")
        unfinished.write_text("\n".join(text) + "\n")
        unfinished.replace(self.state_path)


def _profile_path(profile: str) -> Path:
    path = PROFILES / f"{profile}.state"
    if not path.exists():
        names = ", ".join(sorted(file.stem for file in PROFILES.glob("*.state")))
        message = f"no profile {profile!r}; there are {names}"
        raise ValueError(message)
    return path


def _checked(lines: dict[str, Value]) -> dict[str, Value]:
    for key in lines:
        check_key(key)
    return dict(lines)


def _formatted(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
