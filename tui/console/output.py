"""Standard output: text for people and JSON for scripts, whatever it leads to."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from ..drawing.glyphs import speaks_utf8, to_ascii
from .exits import silence


class OutputError(Exception):
    """Standard output cannot be written to. The text is one sentence for people."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to standard output: {error.strerror or error}")


def open_standard_streams() -> None:
    """Give the standard streams that are closed a place, before another file takes their numbers.

    Raises:
        OutputError: when standard output is one of them: everything that we do writes to it.
    """
    failed: OSError | None = None
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError as error:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            failed = error if descriptor == 1 else failed
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if failed is not None:
        raise OutputError(failed)


def say(text: str, *, ascii_only: bool = False) -> None:
    """Print text for people, in the glyphs that the reader's locale has, and nothing that is none.

    Raises:
        BrokenPipeError: when whoever read it has enough.
        OutputError: when it cannot be written.
    """
    from ..drawing.lines import plain_text

    text = plain_text(text.split("\n"))
    convert = ascii_only or not output_is_utf8()
    _write((to_ascii(text) if convert else text).encode("utf-8", "replace"))


def say_json(text: bytes) -> None:
    """Print JSON, which is UTF-8 in any locale, with everything escaped that a terminal would obey.

    Raises:
        BrokenPipeError: when whoever read it has enough.
        OutputError: when it cannot be written.
    """
    _write(text if _is_harmless(text) else _escaped(text))


def _is_harmless(text: bytes) -> bool:
    """Whether it is ASCII without control characters; the encoder has escaped the others."""
    return text.isascii() and text.translate(None, b"\n").decode("ascii").isprintable()


def _escaped(text: bytes) -> bytes:
    from ..drawing.lines import plain_json

    return plain_json(text.decode("utf-8", "replace")).encode("utf-8", "replace")


def output_is_utf8() -> bool:
    """Whether standard output may be sent UTF-8, by what the user set."""
    environment = dict(os.environ)
    if "LC_CTYPE" in environment:
        with contextlib.suppress(OSError):
            environment = _without_coercion(environment, Path("/proc/self/environ").read_bytes())
    return speaks_utf8(environment)


def _without_coercion(environment: dict[str, str], started_with: bytes) -> dict[str, str]:
    """Python sets LC_CTYPE for itself under the C locale; what the user set is what counts."""
    entries = (entry.partition(b"=") for entry in started_with.split(b"\0"))
    ctype = next((value for name, _, value in entries if name == b"LC_CTYPE"), b"")
    return {**environment, "LC_CTYPE": ctype.decode("utf-8", "replace")}


def _write(data: bytes) -> None:
    try:
        rest = memoryview(data + b"\n")
        while rest:
            rest = rest[os.write(sys.stdout.fileno(), rest) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(1)
        raise OutputError(error) from error
