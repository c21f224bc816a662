"""syslog(2): the newest part of the kernel's log in one call, as ``dmesg`` prints it."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Any

from ..protocol import SourceDenied, SourceError, SourceUnsupported
from .lines import MOST_BYTES
from .refusal import DENIED

_READ_ALL, _SIZE = 3, 10


class Ring:
    """Where there is no ``/dev/kmsg``, as in a container that may read the log all the same."""

    name = "dmesg"
    rest_seconds = 10.0
    """Each time all of it is given."""

    def take(self) -> bytes:
        """The newest part of the log.

        Raises:
            SourceError: this kernel, or whoever made this container, does not let it be read.
        """
        try:
            return newest(min(size() or MOST_BYTES, MOST_BYTES))
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EACCES):
                raise SourceDenied(DENIED) from error
            if error.errno == errno.ENOSYS:
                raise SourceUnsupported("this kernel keeps no log") from error
            raise SourceError(
                f"the kernel log cannot be read: {os.strerror(error.errno or 0)}"
            ) from error

    def close(self) -> None:
        """It holds nothing."""


def size() -> int | None:
    """Of the log's buffer, in bytes; ``None`` where it may not be asked for."""
    try:
        return _call(_SIZE, None, 0)
    except OSError:
        return None


def newest(most: int) -> bytes:
    """Its last bytes, from the beginning of a line on.

    Raises:
        OSError: when it may not be read.
    """
    buffer = ctypes.create_string_buffer(most)
    return buffer.raw[: _call(_READ_ALL, buffer, most)]


def _call(what: int, buffer: Any, length: int) -> int:
    function = _function()
    if function is None:
        raise OSError(errno.ENOSYS, "no klogctl")
    given = int(function(what, buffer, length))
    if given < 0:
        raise OSError(ctypes.get_errno(), "klogctl")
    return given


@cache
def _function() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).klogctl
    except (OSError, AttributeError):
        return None
