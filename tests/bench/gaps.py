"""A rank that does nothing but look for gaps in its own time: run by `test_attach_cost`.

Prints a line a second: how often it looked, and for each window of 10 ms the longest gap, and what of the
window's gaps it did not spend in waiting for a core, both in microseconds. The latter is for what stops it.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

WINDOW_SECONDS = 0.01
LEAST_SECONDS = 0.0002
"""Shorter gaps are those of the loop itself."""
THREADS = int(sys.argv[1])


def waited_for_a_core() -> float:
    """Seconds so far, of this thread."""
    return int(SCHEDULING.read_text().split()[1]) / 1e9


def look() -> None:
    found: list[str] = []
    looks = 0
    began = time.perf_counter()
    while True:
        waited = waited_for_a_core()
        window = last = time.perf_counter()
        longest = stopped = 0.0
        while last - window < WINDOW_SECONDS:
            now = time.perf_counter()
            looks += 1
            gap = now - last
            if gap > LEAST_SECONDS:
                longest = max(longest, gap)
                stopped += gap
            last = now
        stopped = max(0.0, stopped - (waited_for_a_core() - waited))
        found.append(f"{longest * 1e6:.0f} {stopped * 1e6:.0f}")
        if last - began >= 1.0:
            print(looks, *found, flush=True)
            found.clear()
            looks = 0
            began = time.perf_counter()


for number in range(THREADS):
    threading.Thread(target=threading.Event().wait, name=f"idle {number}", daemon=True).start()
SCHEDULING = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
look()
