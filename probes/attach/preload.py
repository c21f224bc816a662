"""How the probe is loaded into a job's Pythons, and why it is not in one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

SHIM = Path(__file__).resolve().parents[1] / "inprocess" / "shim"
"""The folder that a job finds first on its ``PYTHONPATH``."""
_PYTHON = re.compile(rb"^python([0-9.]*)[a-z]?$")
_OPTIONS_WITH_VALUE = b"WX"
_DEAF = {b"I": "-I", b"E": "-E", b"S": "-S"}
_WORDS_BYTES = 65536


def with_shim(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The environment of a job whose Pythons shall load the probe: one variable differs."""
    shim = bytes(SHIM)
    before = environment.get(b"PYTHONPATH", b"")
    parts = [shim, before] if before and shim not in before.split(b":") else [before or shim]
    return {**environment, b"PYTHONPATH": b":".join(parts)}


def deaf_option(words: Sequence[bytes]) -> str | None:
    """The option by which a Python that is started so ignores ``PYTHONPATH``; ``None``: it heeds it.

    Anything that is not a Python heeds it too, as far as this can tell.
    """
    if not words or not _PYTHON.match(words[0].rpartition(b"/")[2]):
        return None
    position = 1
    while position < len(words):
        word = words[position]
        if not word.startswith(b"-") or word == b"-" or word.startswith(b"--"):
            return None
        for letter, rest in ((word[i : i + 1], word[i + 1 :]) for i in range(1, len(word))):
            if letter in _DEAF:
                return _DEAF[letter]
            if letter in (b"c", b"m"):
                return None
            if letter in (b"W", b"X"):
                position += not rest
                break
        position += 1
    return None


def why_not_loaded(pid: int) -> str:
    """Why there is no probe in that process, as far as /proc tells."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()[:_WORDS_BYTES].split(b"\0")
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError as error:
        return f"its command line and environment are not readable ({error.strerror})"
    shim = str(SHIM.relative_to(SHIM.parents[2])).encode()
    path = next((each for each in environment if each.startswith(b"PYTHONPATH=")), b"")
    if shim not in path:
        return "start the job with `gputop run -- …`, or call gputop.attach() in it"
    option = deaf_option(words)
    if option:
        return f"python {option} ignores PYTHONPATH, by which `gputop run` loads it"
    if b"GPUTOP_PROBE=0" in environment:
        return "GPUTOP_PROBE=0 switches it off"
    return "it starts when torch trains in the process; other processes get none"
