"""Healthy: long phases that make progress, and what is called like one."""

import fcntl
import io
import os
import socket
import threading
import time
from datetime import timedelta

from common import FIRST_STEPS, HOUR, burn

DRIPPING_SERVER = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    peer, _ = server.accept()
    try:
        while True:
            peer.sendall(bytes(1 << 16))
            time.sleep(0.05)
    except OSError:
        pass
"""
BUILDS = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("builds", flush=True)
while True:
    compile("x = 1\\n" * 2000, "module", "exec")
"""


def own_words(job):
    """Functions whose names are those of long phases, in every step, and quick."""

    def evaluate():
        return sum(range(2000))

    def save_checkpoint():
        return io.BytesIO(os.urandom(4096)).read()

    def download_rollout():
        job.step(0.02)

    def sleep_well():
        time.sleep(0.1)

    job.ready()
    while True:
        for work in (evaluate, save_checkpoint, download_rollout, sleep_well):
            work()


def own_threads(job):
    """Threads that are named like long phases, and wait."""
    for name in ("save", "evaluate", "download", "rollout"):
        threading.Thread(target=time.sleep, args=(HOUR,), name=name, daemon=True).start()
    job.steps()
    job.ready()
    job.train()


def loads_checkpoint(job):
    """Reads one before it trains: piece by piece, for a minute."""
    import torch

    path = job.folder / "model.pt"
    torch.save([torch.zeros(1 << 20) for _ in range(16)], path)
    job.ready()
    for _ in range(120):
        torch.load(path)
        time.sleep(0.3)
    job.train()


def _while_others_wait(job, work):
    """The odd rank works for a minute and more; the others wait in a barrier."""
    import torch.distributed as dist

    job.steps()
    if job.odd:
        job.ready()
        ended = time.monotonic() + 100
        while time.monotonic() < ended:
            work()
    if job.world > 1:
        dist.barrier()
    job.train()


def evaluates(job):
    import torch

    def evaluate():
        with torch.no_grad():
            torch.nn.functional.relu(torch.randn(64, 512) @ torch.randn(512, 512)).sum()
        time.sleep(0.02)

    _while_others_wait(job, evaluate)


def saves(job):
    def save_checkpoint():
        with open(job.folder / "model.pt", "ab") as file:
            file.write(os.urandom(1 << 18))
            file.flush()
            os.fsync(file.fileno())
        time.sleep(0.1)
        if os.path.getsize(job.folder / "model.pt") > 1 << 26:
            os.truncate(job.folder / "model.pt", 0)

    _while_others_wait(job, save_checkpoint)


def compiles(job):
    """Long work of the host in Python's own compiler, as torch.compile's is."""

    def compile_graph():
        compile("x = 1\n" * 2000, "graph", "exec")

    _while_others_wait(job, compile_graph)


def preprocesses_first(job):
    """``with main_process_first()``: one rank makes the data set, and its files grow."""

    def tokenize():
        with open(job.folder / "tokens.bin", "ab") as file:
            file.write(bytes(burn(0.05) % 250 + 5) * 1000)

    _while_others_wait(job, tokenize)


def downloads(job):
    """Slowly, but byte after byte."""
    port = int(job.outside(DRIPPING_SERVER))
    with socket.create_connection(("127.0.0.1", port)) as peer:
        _while_others_wait(job, lambda: peer.recv(1 << 16))


def starts_long(job):
    """The odd rank imports for long; the others wait for it in the rendezvous."""
    import torch  # noqa: F401

    if job.odd:
        job.ready()
        ended = time.monotonic() + 60
        while time.monotonic() < ended:
            compile("x = 1\n" * 2000, "module", "exec")
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=timedelta(minutes=5))
    job.train()


def fills_buffer(job):
    """The first batch comes after a shuffle buffer has been filled, for half a minute."""
    job.ready()
    with open("/dev/urandom", "rb") as source:
        for _ in range(400):
            source.read(1 << 18)
            time.sleep(0.1)
    job.train()


def saves_beside(job):
    """A checkpoint is written by a thread while the training goes on."""

    def write():
        while True:
            with open(job.folder / "model.pt", "wb") as file:
                for _ in range(20):
                    file.write(os.urandom(1 << 18))
                    file.flush()
                    os.fsync(file.fileno())
                    time.sleep(0.1)

    threading.Thread(target=write, name="async-checkpoint", daemon=True).start()
    job.steps(FIRST_STEPS)
    job.ready()
    job.train()


def waits_for_a_child(job):
    """Another process of it prepares the data, without a word for minutes."""
    job.steps()
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        burn(HOUR)
        os._exit(0)
    os.close(writer)
    job.ready()
    os.read(reader, 1)


def watches_for_a_file(job):
    """An evaluator that has done its work until the next checkpoint is there."""
    job.steps()
    job.ready()
    while not (job.folder / "next-checkpoint").exists():
        time.sleep(0.2)


def builds_first(job):
    """The odd rank wants what another process builds, under a lock; the others wait for it."""
    import torch.distributed as dist

    job.steps()
    if job.odd:
        path = job.folder / "build.lock"
        job.outside(BUILDS, path)
        job.ready()
        with open(path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
    dist.barrier()
    job.train()


def has_ended_children(job):
    """A helper has done its work, well, and nobody has asked for its end."""
    if os.fork() == 0:
        os._exit(0)
    job.steps()
    job.ready()
    job.train()
