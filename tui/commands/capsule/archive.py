"""The file of a capsule: a zip that appears whole under its name, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import time
import zipfile
from pathlib import Path

_MODE = 0o600
_ZIP_BEGINS = 1980
"""Its format knows no earlier year."""


class ArchiveError(Exception):
    """It cannot be written. The text is one sentence for people."""


class Archive:
    """Made under another name beside its own, for its owner's eyes alone.

    Args:
        path: where it shall be.
        force: whether it takes the place of a file of that name.

    Raises:
        ArchiveError: where there is one already, or none can be made there.
    """

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self._path = path
        self._force = force
        self._refuse_what_is_there()
        self._part = path.with_name(f".{path.name}.{os.getpid()}.part")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.fdopen(os.open(self._part, flags, _MODE), "w+b")
        except OSError as error:
            raise ArchiveError(f"{path}: {error.strerror}") from error
        self._zip = zipfile.ZipFile(self._file, "w")
        self._open = True
        self.names: list[str] = []
        """Of all that is in it."""

    def add(self, name: str, data: bytes, *, packed: bool = False) -> None:
        """One more file in its one folder.

        Args:
            name: of the file.
            data: all of it.
            packed: it is compressed already.

        Raises:
            ArchiveError: where it cannot be written.
        """
        moment = time.localtime()
        date = (max(_ZIP_BEGINS, moment.tm_year), *moment[1:6])
        about = zipfile.ZipInfo(f"{self._path.stem or 'capsule'}/{name}", date_time=date)
        about.external_attr = (stat.S_IFREG | _MODE) << 16
        about.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
        try:
            self._zip.writestr(about, data)
        except OSError as error:
            raise ArchiveError(f"{self._path}: {error.strerror}") from error
        self.names.append(name)

    def finish(self) -> int:
        """Give it its name; returns its bytes.

        Raises:
            ArchiveError: where it cannot be written, or a file of that name has come meanwhile.
        """
        try:
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            size = os.fstat(self._file.fileno()).st_size
            self._file.close()
            self._take_name()
        except OSError as error:
            raise ArchiveError(f"{self._path}: {error.strerror}") from error
        self._open = False
        return size

    def abandon(self) -> None:
        """Leave nothing of it, unless it is finished."""
        if self._open:
            self._open = False
            # A zip that is not closed is closed when it is forgotten: it must not find its file gone then.
            self._zip.fp = None
            with contextlib.suppress(OSError, ValueError):
                self._file.close()
            with contextlib.suppress(OSError):
                self._part.unlink()

    def _refuse_what_is_there(self) -> None:
        try:
            about = os.lstat(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ArchiveError(f"{self._path}: {error.strerror}") from error
        if not stat.S_ISREG(about.st_mode):
            raise ArchiveError(f"{self._path} is there, and no regular file: choose another name")
        if not self._force:
            raise ArchiveError(f"{self._path}: File exists; --force replaces it")

    def _take_name(self) -> None:
        if self._force:
            self._part.replace(self._path)
            return
        try:
            os.link(self._part, self._path)  # fails where there is one, which a renaming does not
        except FileExistsError:
            raise
        except OSError:  # no file has two names there
            self._refuse_what_is_there()
            self._part.rename(self._path)
        else:
            self._part.unlink()
