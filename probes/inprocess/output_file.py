"""Files that a command writes for the user: made new, never over what is there."""

from __future__ import annotations

import os

from .errors import CommandError


def reserve(path: object) -> str:
    """Make that file, empty, so that nothing else can have the name, and what is there stays.

    Raises:
        CommandError: it exists, cannot be made, or is no absolute path.
    """
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        raise CommandError("an absolute path is needed for the file")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        raise CommandError(f"{path} exists already, and nothing is overwritten") from None
    except OSError as error:
        raise CommandError(f"the job cannot write {path}: {error.strerror}") from None
    return path


def give_up(path: str) -> None:
    """Remove a file made by `reserve` that nothing was written into."""
    try:
        os.unlink(path)
    except OSError:
        return
