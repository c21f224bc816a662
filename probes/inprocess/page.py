"""The writer's side of the state page."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import time

from . import layout
from .place import NoPlace, candidates, open_directory, remove_dead, started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Twin:
    """A record with two places, stored into in turn, so that one is always whole."""

    def __init__(self, page: Page, at: int, size: int) -> None:
        self._page = page
        self._at = at
        self._size = size
        self._generation = 0

    def store(self, payload: bytes) -> bool:
        """Whether it had room."""
        if layout.RECORD_HEAD.size + len(payload) > self._size:
            return False
        self._generation += 1
        data = layout.record(self._generation, payload)
        at = self._at + (self._generation & 1) * self._size
        self._page.view[at : at + len(data)] = data
        return True

    def store_json(self, value: dict[str, object]) -> bool:
        """The same with an object."""
        import json  # in the probe's own thread first: it takes longer than all of `attach`

        return self.store(json.dumps(value, separators=(",", ":")).encode())


class Page:
    """The page of this process, mapped. Made by `make_page`.

    Attributes:
        view: all of it, as bytes.
        words: all of it, as 8-byte integers.
        path: for people; the directory may have been removed since.
    """

    def __init__(self, directory: int, descriptor: int, path: str) -> None:
        self._directory = directory
        self._descriptor = descriptor
        status = os.fstat(descriptor)
        self._file = status.st_dev, status.st_ino
        self.path = path
        # The map lives as long as a view of it does: it is never closed under a thread that stores.
        self.view = memoryview(mmap.mmap(descriptor, layout.PAGE_SIZE))
        self.words = self.view.cast("Q")
        self.facts = Twin(self, layout.FACTS_AT, layout.FACTS_SIZE)
        self.gauges = Twin(self, layout.GAUGES_AT, layout.GAUGES_SIZE)

    @property
    def name(self) -> str:
        """Of the file in its directory, without the ending: pid and start time."""
        return os.path.basename(self.path)[: -len(".page")]

    @property
    def directory(self) -> int:
        """Descriptor of the directory that the page lies in."""
        return self._directory

    def store_newest(self, index: int, payload: bytes) -> None:
        """A step has ended, the ``index``-th of the main loop, from 0: into the ring, and to the front."""
        data = layout.record(index + 1, payload)
        size = len(data)
        view = self.view
        at = layout.STEPS_AT + index % layout.STEPS * layout.STEP_SIZE
        view[at : at + size] = data
        at = layout.NEWEST_AT + (index & 1) * layout.STEP_SIZE
        view[at : at + size] = data

    def store_again(self, index: int, step: layout.Step) -> None:
        """More is known of a step that is still in the ring."""
        data = layout.record(index + 1, layout.pack_step(step))
        at = layout.STEPS_AT + index % layout.STEPS * layout.STEP_SIZE
        self.view[at : at + len(data)] = data

    def forget_steps(self) -> None:
        """Another thread is the main loop from now on, and counts from 0."""
        self.view[layout.NEWEST_AT : layout.SLOTS_AT] = bytes(layout.SLOTS_AT - layout.NEWEST_AT)

    def store_evaluations(self, count: int) -> None:
        """So many have begun."""
        self.words[layout.EVALUATIONS_AT // 8] = count

    def touch(self) -> None:
        """Tell those who tidy up that this page is in use; stores through the map do not."""
        if self._is_open():
            os.utime(self._descriptor)

    def leave(self) -> None:
        """In a forked child: let go of the parent's page. What is stored from now on goes nowhere."""
        before = self.view
        self.view = memoryview(bytearray(layout.PAGE_SIZE))
        self.words = self.view.cast("Q")
        if self._is_open():
            os.close(self._descriptor)
            os.close(self._directory)
        else:  # the map has a descriptor of its own, and would close whatever has its number now
            self._kept = before

    def _is_open(self) -> bool:
        """Not where the job has closed all that it knows nothing of; the number may be another file's now."""
        try:
            status = os.fstat(self._descriptor)
            return (status.st_dev, status.st_ino) == self._file
        except OSError:
            return False

    def tidy(self) -> Iterator[int]:
        """Remove what the dead have left beside it beyond a bound, a few at each turn."""
        return remove_dead(self._directory)

    def remove(self) -> None:
        """At a clean end: leave nothing behind."""
        os.unlink(os.path.basename(self.path), dir_fd=self._directory)


def make_page() -> Page:
    """Make this process's page at the first place that takes one.

    Raises:
        NoPlace: none does; the text says why.
    """
    uid = os.geteuid()
    refusals: list[str] = []
    for path in candidates(dict(os.environ), uid):
        try:
            return _make_in(path, uid)
        except NoPlace as error:
            refusals.append(str(error))
        except OSError as error:
            refusals.append(f"{path}: {error.strerror}")
    raise NoPlace("no place for the state page: " + "; ".join(refusals))


def _make_in(path: str, uid: int) -> Page:
    directory = open_directory(path, uid)
    ticks = started("self")
    name = f"{os.getpid()}-{ticks}.page"
    try:
        try:
            os.unlink(name, dir_fd=directory)  # ours, from before an exec
        except FileNotFoundError:
            pass
        try:
            descriptor = _reserved(directory, name)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            for _ in remove_dead(directory):
                pass
            descriptor = _reserved(directory, name)
    except BaseException:
        os.close(directory)
        raise
    try:
        page = Page(directory, descriptor, f"{path}/{name}")
    except BaseException:
        os.unlink(name, dir_fd=directory)
        os.close(descriptor)
        os.close(directory)
        raise
    header = layout.HEADER.pack(
        layout.MAGIC,
        layout.VERSION,
        layout.PAGE_SIZE,
        os.getpid(),
        ticks,
        time.perf_counter_ns(),
        time.time_ns(),
    )
    page.view[: len(header)] = header
    return page


def _reserved(directory: int, name: str) -> int:
    """A descriptor of a new file of a page's size, locked as a sign of life, that none but us writes.

    Cut short under a map, the next store would kill the job. So nobody may open it for writing from now
    on, the user who owns it included; root may, and that is not to be helped.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o400, dir_fd=directory)
    try:
        # All of it now: on a full tmpfs a map can be made, and the first store would kill the job.
        os.posix_fallocate(descriptor, 0, layout.PAGE_SIZE)
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BaseException:
        os.unlink(name, dir_fd=directory)
        os.close(descriptor)
        raise
    return descriptor
