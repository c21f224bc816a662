"""A job of many real processes: ``big_job.py RANKS WORKERS THREADS``, run by `test_attach_cost`.

Each rank runs as a program of its own, forks its loaders' workers, and goes on in short steps. Every
process has so many threads, which sleep. Prints a line when all of them are there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

RANKS, WORKERS, THREADS = (int(word) for word in sys.argv[1:4])
_SET_NAME, _DIE_WITH_PARENT = 15, 1


def main() -> None:
    names = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}
    ranks = [
        subprocess.Popen(
            [sys.executable, *sys.argv],
            env={**os.environ, **names, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
        )
        for rank in range(RANKS)
    ]
    for rank in ranks:
        assert rank.stdout is not None
        rank.stdout.readline()
    print("ready", flush=True)
    signal.pause()


def be_rank() -> None:
    die_with_parent()
    readable, written = os.pipe()
    for _ in range(WORKERS):
        if os.fork() == 0:
            be_worker(written)
    for _ in range(WORKERS):
        os.read(readable, 1)
    sleep_in_threads()
    print("ready", flush=True)
    while True:
        time.sleep(0.1)


def be_worker(written: int) -> None:
    die_with_parent()
    ctypes.CDLL(None).prctl(_SET_NAME, b"pt_data_worker", 0, 0, 0)
    sleep_in_threads()
    os.write(written, b"x")
    signal.pause()


def sleep_in_threads() -> None:
    threading.stack_size(64 * 1024)
    for _ in range(THREADS - 1):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


if "RANK" in os.environ:
    be_rank()
else:
    main()
