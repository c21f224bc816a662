"""What takes long to work out, once for all processes of one run of the tests."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

FOLDER = "GPUTOP_TESTS_FOLDER"
"""Variable with a folder of this run and this user alone, for what lies in it is unpickled."""
_T = TypeVar("_T")


def shared(name: str, make: Callable[[], _T]) -> _T:
    """What another process of this run has made already, else made here and left for the others."""
    folder = os.environ.get(FOLDER)
    if folder is None:  # no test: a script that writes a fixture
        return make()
    path = Path(folder) / name
    try:
        found: _T = pickle.loads(path.read_bytes())
    except FileNotFoundError:
        found = make()
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
        Path(file.name).replace(path)  # whole, or not there
    return found
