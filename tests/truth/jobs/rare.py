"""Ways to stand still that are met less often: each blocks in another call of the kernel."""

import asyncio
import concurrent.futures
import fcntl
import multiprocessing
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from common import HOUR

HOLDS_RECORD_LOCK = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(3600)
"""
READS_STDIN = "import sys; sys.stdin.read()"


def accepts(job):
    """Waits for a peer that never connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        job.others_ready()
        server.accept()


def selects(job):
    """Waits for any of two sockets, without a limit."""
    first, _first_peer = socket.socketpair()
    second, _second_peer = socket.socketpair()
    job.others_ready()
    select.select([first, second], [], [])


def waits_for_signal(job):
    """Somebody was to wake it by a signal."""
    job.others_ready()
    signal.pause()


def semaphore(job):
    """One between processes, that nobody releases."""
    free = multiprocessing.get_context("fork").Semaphore(0)
    job.others_ready()
    free.acquire()


def record_lock(job):
    """A POSIX lock on a file, that a process outside the job holds."""
    path = job.folder / f"cache-{job.rank}.lock"
    job.outside(HOLDS_RECORD_LOCK, path)
    with open(path, "a") as file:
        job.others_ready()
        fcntl.lockf(file, fcntl.LOCK_EX)


def event(job):
    job.others_ready()
    threading.Event().wait()


def waits_for_child(job):
    """A program that waits for input which nobody gives it."""
    with subprocess.Popen([sys.executable, "-c", READS_STDIN], stdin=subprocess.PIPE) as child:
        job.others_ready()
        os.waitpid(child.pid, 0)


def full_pipe(job):
    """Writes to a pipe that nobody empties."""
    _reader, writer = os.pipe()
    job.others_ready()
    while True:
        os.write(writer, b"x" * 4096)


def stopped_terminal(job):
    """Prints to a terminal on which somebody has pressed Ctrl-S: nobody takes what is written."""
    _screen, terminal = pty.openpty()
    job.others_ready()
    with open(terminal, "w") as out:
        while True:
            print("loss 2.5", file=out)


def full_backlog(job):
    """A local service that takes no further connection."""
    path = str(job.folder / f"service-{job.rank}.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(0)
        job.others_ready()
        peers = [socket.socket(socket.AF_UNIX) for _ in range(8)]
        for peer in peers:
            peer.connect(path)


def joins_reader(job):
    """Its main thread waits for another, which waits for a socket."""
    mine, _theirs = socket.socketpair()
    reader = threading.Thread(target=mine.recv, args=(1,), name="reader", daemon=True)
    reader.start()
    job.others_ready()
    reader.join()


def stopped_worker(job):
    """A result of a pool whose worker was stopped."""
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=fork) as pool:
        worker = pool.submit(os.getpid).result()
        os.kill(worker, signal.SIGSTOP)
        job.others_ready()
        pool.submit(os.getpid).result()


def long_sleep(job):
    job.others_ready()
    time.sleep(HOUR)


def event_loop(job):
    """A future of asyncio that nobody fulfills."""

    async def waits():
        await asyncio.get_running_loop().create_future()

    job.others_ready()
    asyncio.run(waits())
