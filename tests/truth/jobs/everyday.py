"""More ways to stand still for ever, as they come in everyday programs; ``hung`` takes them as it does ``blocks``."""

import multiprocessing
import os
import pdb  # noqa: T100
import pty
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from common import HOUR

HALF_A_DOWNLOAD = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
peer, _ = server.accept()
peer.recv(4096)
peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 99999999\\r\\n\\r\\n" + bytes(1 << 16))
time.sleep(3600)
"""


def stopped_program(job):
    """Waits for a program that somebody has stopped."""
    program = subprocess.Popen(["sleep", "3600"])
    os.kill(program.pid, signal.SIGSTOP)
    job.others_ready()
    program.wait()


def stopped_compiler(job):
    """The same, of a compiler: its name tells of long work, its state does not."""
    compiler = job.folder / "cc1plus"
    compiler.symlink_to("/bin/sleep")
    program = subprocess.Popen([compiler, "3600"])
    os.kill(program.pid, signal.SIGSTOP)
    job.others_ready()
    program.wait()


def full_queue(job):
    """Nobody takes from it any more."""
    fork = multiprocessing.get_context("fork")
    samples = fork.Queue(maxsize=2)
    fork.Process(target=time.sleep, args=(HOUR,), daemon=True).start()
    job.others_ready()
    while True:
        samples.put(b"sample")


def lock_of_the_dead(job):
    """A lock of several processes, taken by one that was killed."""
    fork = multiprocessing.get_context("fork")
    lock = fork.Lock()
    child = fork.Process(target=lock.acquire)
    child.start()
    child.join()
    job.others_ready()
    lock.acquire()


def future(job):
    """The result of a thread that reads from a server which does not answer."""
    from concurrent.futures import ThreadPoolExecutor

    from blocks import SILENT_SERVER

    peer = socket.create_connection(("127.0.0.1", int(job.outside(SILENT_SERVER))))
    pool = ThreadPoolExecutor(1)
    job.others_ready()
    pool.submit(peer.recv, 1).result()


def name_server(job):
    """As the C library asks a name server that is not there: again and again."""
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    asking.connect(silent.getsockname())
    poll = select.poll()
    poll.register(asking, select.POLLIN)
    job.others_ready()
    while True:
        asking.send(bytes(30))
        poll.poll(5000)


def stalled_download(job):
    """Half of a file has come, and no more does; the client's time limit is far."""
    port = int(job.outside(HALF_A_DOWNLOAD))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/model", timeout=HOUR) as answer:
        job.others_ready()
        answer.read()


def backs_off(job):
    """Tries a server that is not there, at ever longer intervals."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    job.others_ready()
    seconds = 0.5
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(seconds)
            seconds = min(2 * seconds, 60.0)


def forgotten_breakpoint(job):
    """A prompt that nobody sees."""
    main, other = pty.openpty()
    os.dup2(other, 0)
    job.others_ready()
    pdb.set_trace()  # noqa: T100 - that is what the case is about
    os.close(main)


def joined_process(job):
    """Another process of it is to end first, and stands still itself."""
    fork = multiprocessing.get_context("fork")
    mutex = threading.Lock()
    mutex.acquire()
    child = fork.Process(target=mutex.acquire)
    child.start()
    job.others_ready()
    child.join()


def dead_thread_beside_others(job):
    """As ``dead_thread``; threads that live do something else."""

    def beats():
        while True:
            (job.folder / f"alive-{job.rank}").touch()
            time.sleep(1.0)

    def fails():
        raise ValueError("bad record")

    stop = threading.Event()
    threading.Thread(target=beats, name="heartbeat", daemon=True).start()
    threading.Thread(target=stop.wait, name="flusher", daemon=True).start()
    threading.Thread(target=fails, name="reader").start()
    results = queue.Queue()
    job.others_ready()
    results.get()


def tries_for_ever(job):
    """A loop that meets the same error each time."""
    done = threading.Event()
    job.others_ready()
    while not done.is_set():
        try:
            int("no number")
        except ValueError:
            continue


def never_converges(job):
    """A loop of tensors whose condition stays true."""
    import torch

    torch.set_num_threads(1)
    value = torch.ones(64)
    job.others_ready()
    while value.sum() > 0:
        value = value * 1.0


def sleeps_in_every_step(job):
    """Slower than the others by what it waits for in every step."""
    job.others_ready()
    while True:
        if job.odd:
            time.sleep(0.3)
        job.step()


def program_that_ends_not(job):
    """A program that asks for something on its own standard input."""
    reader, _writer = os.pipe()
    program = subprocess.Popen([sys.executable, "-c", "input()"], stdin=reader)
    job.others_ready()
    program.wait()
