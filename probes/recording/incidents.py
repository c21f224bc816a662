"""A folder of recordings that are written when something goes wrong: bounded, the oldest go."""

from __future__ import annotations

from pathlib import Path

from .errors import RecordingError, reason
from .format import SUFFIX
from .names import moment
from .ring import Ring

MOST_FILES = 20
MOST_BYTES = 200 << 20
SPACING_SECONDS = 60.0
"""What becomes active within such a time of a file is written once it is over."""
_PREFIX = "gputop-finding-"


class Incidents:
    """Writes the last ten minutes to a folder, at most once a minute.

    Args:
        folder: where to.
        most_files: of ours in it.
        most_bytes: of these together.
    """

    def __init__(
        self, folder: Path, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES
    ) -> None:
        self._folder = folder
        self._most_files = most_files
        self._most_bytes = most_bytes
        self._due: float | None = None
        self._saved: float | None = None
        self._why = ""

    def note(self, id: str, now_seconds: float) -> None:
        """A finding of this rule has become active; Unix time."""
        if self._due is None:
            saved = self._saved
            self._due = now_seconds if saved is None else max(now_seconds, saved + SPACING_SECONDS)
            self._why = id

    def save(self, ring: Ring, now_seconds: float, *, early: bool = False) -> Path | None:
        """Write what is due, if it is, and say where.

        Args:
            ring: the last minutes.
            now_seconds: Unix time of its newest sample.
            early: also what would be due later: nothing more comes.

        Raises:
            RecordingError: when it cannot be written.
        """
        if self._due is None or (now_seconds < self._due and not early):
            return None
        self._due, self._saved = None, now_seconds
        path = self._folder / f"{_PREFIX}{self._why}-{moment(now_seconds)}{SUFFIX}"
        size = ring.save(path)
        try:
            self._remove_oldest(path, size)
        except OSError as error:
            raise RecordingError(f"{self._folder} cannot be tidied: {reason(error)}") from error
        return path

    def _remove_oldest(self, newest: Path, size: int) -> None:
        """Remove what is too much of ours."""
        ours = [
            (path.lstat().st_mtime, path)
            for path in self._folder.glob(f"{_PREFIX}*{SUFFIX}")
            if path != newest and path.is_file() and not path.is_symlink()
        ]
        files, left = 1, size
        for _, path in sorted(ours, reverse=True):
            files += 1
            left += path.stat().st_size
            if files > self._most_files or left > self._most_bytes:
                path.unlink(missing_ok=True)
