"""``journalctl -k``: who is in the group ``adm`` or ``systemd-journal`` may read it where the log itself is
for root alone."""

from __future__ import annotations

import shutil
import subprocess
import time

from ..protocol import SourceAbsent, SourceDenied, SourceError

_MOST_LINES = "4000"
_SECONDS = 10.0
_DENIED = "insufficient permissions", "Permission denied", "not seeing messages"
_OVERLAP_SECONDS = 2.0


class Journal:
    """The kernel's part of the journal since the node was started."""

    name = "journalctl"
    rest_seconds = 15.0
    """Each look is a program that has to be started."""

    def __init__(self) -> None:
        self._since: float | None = None

    def take(self) -> bytes:
        """What is new since the last call, and a little of before; at first the newest lines.

        Raises:
            SourceError: there is no journal, or this user may not read it.
        """
        program = shutil.which("journalctl")
        if program is None:
            raise SourceAbsent("there is no journalctl here")
        command = [program, "-k", "-b", "-q", "--no-pager", "-o", "short-unix", "-n", _MOST_LINES]
        began = time.time()
        if self._since is not None:
            command += ["--since", f"@{self._since - _OVERLAP_SECONDS:.0f}"]
        data = _run(command)
        if not data and self._since is None:
            raise SourceAbsent("the journal has nothing of the kernel")
        self._since = began
        return data

    def close(self) -> None:
        """It holds nothing."""


def _run(command: list[str]) -> bytes:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SourceError(f"journalctl does not answer: {type(error).__name__}") from error
    said = done.stderr.decode("utf-8", "replace")
    if any(words in said for words in _DENIED):
        raise SourceDenied("this user may not read the journal")
    if done.returncode:
        raise SourceError(f"journalctl ended with code {done.returncode}")
    return done.stdout
