"""``gputop run -- CMD…``: a job whose Pythons load the probe. Nothing else about it is changed."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...probes.attach.preload import deaf_option, with_shim
from ..console.cannot_start import cannot_start
from ..console.errors import UsageError
from ..console.exits import complain


def run(options: Namespace) -> int:
    """Become the job, or with ``--tui`` watch it; returns only if there is none, or after it.

    Raises:
        UsageError: when no command is given, or there is no screen to watch it on.
    """
    words: list[str] = options.job
    if not words:
        raise UsageError("run needs a command: gputop run -- torchrun train.py")
    deaf = deaf_option([os.fsencode(word) for word in words])
    if deaf:
        complain(f"the probe is not loaded: python {deaf} ignores PYTHONPATH")
    environment = with_shim(original_environment())
    if options.tui:
        from .run_beside import run_beside

        return run_beside(words, environment, options)
    if options.verbose or sys.stderr.isatty():
        complain(f"`gputop {os.getpid()}` in another terminal watches this job")
    return become(words, environment)


def become(words: Sequence[str], environment: Mapping[bytes, bytes]) -> int:
    """Be replaced by a command; its pid, terminal, exit code and signals are then its own.

    Returns the exit code only where it cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these two for itself; what it starts must not inherit that.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    try:
        os.execvpe(words[0], list(words), environment)
    except OSError as error:
        return cannot_start(words[0], environment, error)


def original_environment() -> dict[bytes, bytes]:
    """What gputop itself was started with. Python may have added to its own, such as ``LC_CTYPE``."""
    try:
        data = Path("/proc/self/environ").read_bytes()
    except OSError:
        return dict(os.environb)
    pairs = (entry.partition(b"=") for entry in data.split(b"\0") if entry)
    return {name: value for name, equals, value in pairs if name and equals}
