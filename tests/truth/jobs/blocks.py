"""Ways to stand still for ever, each on a thing that can be named."""

import ctypes
import fcntl
import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

from common import HOUR

SILENT_SERVER = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
peers = []
while True:
    peers.append(server.accept())
"""
HOLDS_FLOCK = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(3600)
"""


def socket_read(job):
    """A server that takes the connection and never answers."""
    port = int(job.outside(SILENT_SERVER))
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"GET /batch\r\n")
        job.others_ready()
        peer.recv(1)


def lock(job):
    mutex = threading.Lock()
    mutex.acquire()
    job.others_ready()
    mutex.acquire()


def pipe(job):
    reader, _writer = os.pipe()
    job.others_ready()
    os.read(reader, 1)


def fifo_open(job):
    path = job.folder / f"fifo-{job.rank}"
    os.mkfifo(path)
    job.others_ready()
    os.open(path, os.O_RDONLY)


def fifo_read(job):
    path = job.folder / f"fifo-{job.rank}"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    job.others_ready()
    os.read(descriptor, 1)


def flock(job):
    """A file lock that a process outside the job holds."""
    path = job.folder / f"cache-{job.rank}.lock"
    job.outside(HOLDS_FLOCK, path)
    with open(path, "a") as file:
        job.others_ready()
        fcntl.flock(file, fcntl.LOCK_EX)


def flock_polled(job):
    """The same, as the package filelock waits for it."""
    path = job.folder / f"cache-{job.rank}.lock"
    job.outside(HOLDS_FLOCK, path)
    job.others_ready()
    while True:
        descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            os.close(descriptor)
        time.sleep(0.05)


def baton(job):
    """A lock file that somebody left there, as torch's FileBaton waits for it."""
    path = job.folder / f"build-{job.rank}" / "lock"
    path.parent.mkdir()
    path.touch()
    job.others_ready()
    while path.exists():
        time.sleep(0.1)


def filelock(job):
    """The package that most caches and downloads lock with."""
    from filelock import FileLock

    path = job.folder / f"hub-{job.rank}.lock"
    job.outside(HOLDS_FLOCK, path)
    job.others_ready()
    FileLock(path).acquire()


def file_baton(job):
    """An extension of torch whose build was killed: its lock file is there still."""
    from torch.utils.file_baton import FileBaton

    path = job.folder / f"extension-{job.rank}" / "lock"
    path.parent.mkdir()
    path.touch()
    job.others_ready()
    FileBaton(str(path)).wait()


def gil(job):
    """A thread sleeps in a function of C that does not let go of the interpreter."""
    library = ctypes.PyDLL(None)
    thread = threading.Thread(target=lambda: library.sleep(3600), name="reader", daemon=True)
    job.others_ready()
    thread.start()
    while True:
        time.sleep(0.01)


def mutexes(job):
    """Two threads take two mutexes of C in opposite order."""
    library = ctypes.CDLL(None)
    first, second = (ctypes.create_string_buffer(64) for _ in range(2))
    taken = threading.Event()

    def backwards():
        library.pthread_mutex_lock(second)
        taken.set()
        time.sleep(0.2)
        library.pthread_mutex_lock(first)

    library.pthread_mutex_lock(first)
    threading.Thread(target=backwards, name="backwards", daemon=True).start()
    taken.wait()
    job.others_ready()
    library.pthread_mutex_lock(second)


def two_locks(job):
    """Two threads take two locks in opposite order."""
    first, second = threading.Lock(), threading.Lock()
    first_taken = threading.Event()

    def backwards():
        with second:
            first_taken.wait()
            with first:
                pass

    thread = threading.Thread(target=backwards)
    thread.start()
    with first:
        while not second.locked():
            time.sleep(0.01)
        first_taken.set()
        job.others_ready()
        with second:
            pass


def dead_thread(job):
    """Waits for what a thread should have put, which ended by an error."""
    results = queue.Queue()

    def fails():
        raise ValueError("bad record")

    threading.Thread(target=fails, name="reader").start()
    job.others_ready()
    results.get()


def _forever():
    time.sleep(HOUR)


def killed_child(job):
    """A queue whose producer was killed: it stays a zombie."""
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=_forever)
    child.start()
    os.kill(child.pid, signal.SIGKILL)
    job.others_ready()
    results.get()


def dead_writer(job):
    """A pipe whose writer is dead and reaped, while its other child still has the end for writing."""
    reader, writer = os.pipe()
    code = [sys.executable, "-c", "import time; time.sleep(3600)"]
    children = [subprocess.Popen(code, pass_fds=[writer]) for _ in range(2)]
    os.close(writer)
    children[0].kill()
    children[0].wait()
    job.others_ready()
    os.read(reader, 1)


def spin(job):
    """A loop whose end never comes."""
    job.others_ready()
    number = 1
    while number:
        number = number % 1000003 + 1


def stop(job):
    job.others_ready()
    os.kill(os.getpid(), signal.SIGSTOP)
