"""The file that a loop looks for, by the variable in its source and the value that this has now.

Only of that variable something is kept, and only if it is the name of a file that is there: a lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..procfs.redaction import mask_text
from .decode import Local, locals_at
from .file_loops import FoundLoop
from .object_texts import ObjectTexts
from .py_spy import Output
from .soon import soon

_NOT_LOCKS = (".py", ".pyc", ".so")
_MOST_TEXTS = 200
Dump = Callable[[], Output]


class LookedFor:
    """Finds it once for each loop.

    Args:
        proc: folder of the process in ``/proc``.
        dump: takes one dump of it, with variables.
    """

    def __init__(self, proc: Path, dump: Dump) -> None:
        self._proc = proc
        self._dump = dump
        self._known: dict[tuple[str, int], str] = {}

    def path(self, found: FoundLoop, main_tid: int) -> str:
        """Empty where it is not known, and where no such file is there."""
        key = (found.path, found.loop.line)
        if found.loop.until == "there":
            return ""
        known = self._known.get(key, "")
        if not known or not soon(lambda: self._is_there(known), otherwise=False):
            self._known[key] = self._look(found, main_tid)
        return mask_text(self._known[key])

    def _look(self, found: FoundLoop, main_tid: int) -> str:
        texts = [*found.literals, *(self._values(found, main_tid) if found.names else ())]
        return soon(lambda: self._lock_among(texts[:_MOST_TEXTS]), "")

    def _values(self, found: FoundLoop, main_tid: int) -> list[str]:
        """All texts in the variables, as of now."""
        try:
            output = self._dump()
            lines = range(found.loop.line, found.last_line + 1)
            there = locals_at(output.out, main_tid, found.path, lines) if output.code == 0 else {}
            memory = os.open(self._proc / "mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            return [
                text
                for name in found.names
                if name in there
                for text in _texts(there[name], memory)
            ]
        finally:
            os.close(memory)

    def _lock_among(self, texts: list[str]) -> str:
        files = [text for text in dict.fromkeys(texts) if self._is_lock(text)]
        # Of several, as an object has that names more than one file, the one that is called a lock.
        called = next((each for each in files if "lock" in Path(each).name.lower()), "")
        return called or (files[0] if len(files) == 1 else "")

    def _is_lock(self, text: str) -> bool:
        return not text.endswith(_NOT_LOCKS) and self._is_there(text)

    def _is_there(self, text: str) -> bool:
        """A file in what the process sees; its own working directory is where a short name begins."""
        if not text.isprintable() or text.endswith("/") or not text.strip("./"):
            return False
        root = self._proc / ("root" if text.startswith("/") else "cwd")
        try:
            return (root / text.lstrip("/")).is_file()
        except (OSError, ValueError):
            return False


def _texts(value: Local, memory: int) -> Iterator[str]:
    said = value.repr or ""
    if said.startswith('"'):
        try:
            yield str(json.loads(said))
        except ValueError:
            yield said.strip('"')
    elif value.addr and said.startswith("<"):
        yield from ObjectTexts(memory).of(value.addr)
