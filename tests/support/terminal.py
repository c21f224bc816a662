"""Programs run as a person runs them: in a terminal, whose bytes, screen and processes are watched."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import struct
import subprocess
import termios
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from gputop.probes.feeds.child import readable


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a condition.

    Raises:
        AssertionError: when it does not come true within ``seconds``.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)


class Pty:
    """A program in a pseudo terminal of ours: every byte that it writes is counted and kept."""

    def __init__(
        self, argv: Sequence[str], *, columns: int, lines: int, env: Mapping[str, str]
    ) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._master = master
        self.output = bytearray()
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def modes(self) -> list[Any]:
        """The terminal's modes, as ``tcgetattr`` has them."""
        return termios.tcgetattr(self._master)

    def hang_up(self) -> None:
        """As when a window is closed, or a connection lost."""
        master, self._master = self._master, -1
        os.close(master)

    def tree(self) -> list[psutil.Process]:
        """The program and all its descendants."""
        try:
            root = psutil.Process(self.process.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def cpu_seconds(self) -> float:
        """CPU time of the whole tree so far, of the living ones."""
        total = 0.0
        for process in self.tree():
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return total

    def pss_bytes(self) -> int:
        """Memory of the whole tree, shared pages divided among those who share them."""
        return sum(_pss_bytes(process.pid) for process in self.tree())

    def wait_for(self, text: str, seconds: float) -> None:
        """Wait until that text has been written."""
        wanted = text.encode()
        wait_until(lambda: wanted in self.output, seconds, f"{text!r} on the terminal")

    def close(self) -> None:
        """Kill what still runs."""
        for process in reversed(self.tree()):
            process.kill()
        self.process.wait()
        self._reader.join(5)
        if self._master >= 0:
            self.hang_up()

    def _read(self) -> None:
        while True:
            try:
                if not readable(self._master, 1):
                    if self.process.poll() is not None:
                        return
                    continue
                data = os.read(self._master, 65536)
            except OSError:
                return
            if not data:
                return
            self.output += data


class Tmux:
    """A program in tmux, whose screen can be read as text."""

    def __init__(self, command: Sequence[str], *, columns: int, lines: int, env: Mapping[str, str]):
        self._server = f"gputop-test-{uuid.uuid4().hex[:8]}"
        line = f'{shlex.join(command)}; echo "exit code $?"; exec sleep 600'
        self._tmux(
            "new-session", "-d", "-x", str(columns), "-y", str(lines), "bash", "-c", line, env=env
        )

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names for them."""
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p")

    def wait_for(self, text: str, seconds: float = 20) -> str:
        """Wait until that text is on the screen; returns the screen."""
        seen = [""]

        def there() -> bool:
            seen[0] = self.screen()
            return text in seen[0]

        try:
            wait_until(there, seconds, f"{text!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen is:\n{seen[0]}") from None
        return seen[0]

    def pid(self) -> int:
        """Of what runs in it."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def resize(self, columns: int, lines: int) -> None:
        """As when a window is made smaller or larger."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def close(self) -> None:
        """End it and everything in it."""
        self._tmux("kill-server")

    def _tmux(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._server, "-f", "/dev/null", *words],
            env=None if env is None else dict(env),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
