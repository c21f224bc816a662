"""What is said of a command that cannot be started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from .exits import CANNOT_RUN, NOT_FOUND, complain


def cannot_start(program: str, environment: Mapping[bytes, bytes], error: OSError) -> int:
    """Say why, and return the exit code that a shell would give."""
    path = os.fsdecode(environment.get(b"PATH", os.fsencode(os.defpath)))
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if shutil.which(program, path=path):
            return complain(f"{program} names an interpreter that is not there", CANNOT_RUN)
        return complain(f"{program}: there is no such command", NOT_FOUND)
    return complain(f"{program} cannot be run: {error.strerror}", CANNOT_RUN)
