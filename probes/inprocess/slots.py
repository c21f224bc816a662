"""The thread slots of a page, and which thread has which."""

from __future__ import annotations

import os
import threading

from . import layout
from .track import Track, make_track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Slots:
    """Of one page.

    Args:
        words: of the page.
        reported: called with the kernel's id and the name of each thread that takes a slot.

    Attributes:
        left: the page is no longer ours to write.
        local: what each thread has of its own; ``track`` is its track, once it has one.
        main: track of the main thread.
    """

    def __init__(self, words: memoryview, reported: Callable[[int, str], None]) -> None:
        self.words = words
        self._reported = reported
        self.left = False
        self.local = threading.local()
        self._lock = threading.Lock()
        self._free = list(range(layout.THREADS - 1, 0, -1))
        self._tracks: dict[int, Track] = {}
        # Whoever attaches, the loop runs in the main thread: all frameworks do that.
        self.main = make_track(words, 0, layout.CODES["startup"], os.getpid())
        self._tracks[0] = self.main
        self._main_thread = threading.main_thread().ident

    def known(self) -> Track | None:
        track: Track | None = getattr(self.local, "track", None)
        return track

    def track(self) -> Track:
        track: Track | None = getattr(self.local, "track", None)
        return track or self._new()

    def all(self) -> list[Track]:
        with self._lock:
            return list(self._tracks.values())

    def _new(self) -> Track:
        if threading.get_ident() == self._main_thread:
            self.local.track = self.main
            return self.main
        with self._lock:
            slot = self._free.pop() if self._free else None
        if slot is None:
            words, at = memoryview(bytearray(layout.PAGE_SIZE)).cast("Q"), 1  # seen by nobody
        else:
            words, at = self.words, slot
        track = make_track(words, at, layout.CODES["none"], threading.get_native_id())
        if slot is not None:
            self._tracks[slot] = track
            self.local.keeper = _Keeper(self, slot)
            # A thread that Python did not start has no name here, and asking would make it one.
            names: Any = vars(threading)["_active"]
            thread = names.get(threading.get_ident())
            if thread is not None:
                self._reported(threading.get_native_id(), thread.name)
        self.local.track = track
        return track

    def give_back(self, slot: int) -> None:
        with self._lock:
            track = self._tracks.pop(slot, None)
            if track is not None:
                track.end()
                self._free.insert(0, slot)  # so that what it did stays to be seen for long

    def slot(self, track: Track) -> int:
        return next((slot for slot, each in self._tracks.items() if each is track), 0)

    def leave(self, words: memoryview) -> None:
        self.left = True
        self.words = words
        self._lock = threading.Lock()
        for track in self._tracks.values():
            track.rebind(words)


class _Keeper:
    """Lies among a thread's locals and dies with it."""

    def __init__(self, slots: Slots, slot: int) -> None:
        self._slots = slots
        self._slot = slot

    def __del__(self) -> None:
        self._slots.give_back(self._slot)
