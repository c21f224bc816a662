"""Whether torch has made a process group in a process, by the names of the threads that this takes."""

from __future__ import annotations

import os

from ..procfs.files import read_file

_NAMES = (b"pt_gloo", b"pt_nccl")
_MOST_THREADS = 1024


def in_process_group(folder: str) -> bool:
    """Look at all threads of the process with this folder in ``/proc``."""
    try:
        tids = os.listdir(f"{folder}/task")[:_MOST_THREADS]  # noqa: PTH208 - no Path per thread
        return any(read_file(f"{folder}/task/{tid}/comm").startswith(_NAMES) for tid in tids)
    except OSError:  # one of them ended meanwhile: next time
        return False
