"""Healthy: what looks like standing still, and waits for something that will come or works without a sign."""

import heapq
import http.server
import multiprocessing.connection
import os
import queue
import random
import select
import socket
import subprocess
import sys
import threading
import time

from common import HOUR, burn

SILENT_DRIVER = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
peer = server.accept()
time.sleep(3600)
"""
WORKS = "while True: compile('x = 1\\\\n' * 2000, 'module', 'exec')"


def _is_seen_training(job):
    """Somebody who watches has seen it move before: what comes next is the more awkward."""
    job.steps()
    job.ready()
    job.train_until_due()


def program_works(job):
    """Waits for a program that computes."""
    _is_seen_training(job)
    subprocess.run([sys.executable, "-c", WORKS], check=False)


def counts_pairs(job):
    """Long work of the host in one loop of Python, which ends when its heap is empty."""
    _is_seen_training(job)
    heap = [(random.random(), number) for number in range(1000)]
    heapq.heapify(heap)
    while heap:
        weight, number = heapq.heappop(heap)
        if weight < 1000.0:
            heapq.heappush(heap, (weight + random.random() / 1000, number))


def warms_up(job):
    """Keeps a core busy for a set time."""
    _is_seen_training(job)
    burn(100.0)
    job.train()


def sieves(job):
    """Long work in a loop whose body only counts."""
    _is_seen_training(job)
    found = [2]
    number = 3
    while len(found) < 10_000_000:
        if all(number % each for each in found[:40]):
            found.append(number)
        number += 2


def scheduled_tasks(job):
    """Waits for what a thread puts once in five minutes."""
    tasks = queue.Queue()

    def schedule():
        while True:
            time.sleep(300.0)
            tasks.put("evaluate")

    threading.Thread(target=schedule, name="scheduler", daemon=True).start()
    _is_seen_training(job)
    while tasks.get():
        job.steps(10)


def remote_tasks(job):
    """A worker whose driver has no task for it now, on a connection by TCP."""
    port = int(job.outside(SILENT_DRIVER))
    driver = multiprocessing.connection.Connection(
        socket.create_connection(("127.0.0.1", port)).detach()
    )
    _is_seen_training(job)
    driver.recv()


def select_loop(job):
    """A server that looks at its sockets twice a second."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        _is_seen_training(job)
        while True:
            select.select([server], [], [], 0.5)


def asks_again(job):
    """A worker that asks for work every five seconds: there is none."""
    _is_seen_training(job)
    while not (job.folder / "work").exists():
        time.sleep(5.0)


def waits_for_the_hour(job):
    """Trains once an hour."""
    _is_seen_training(job)
    time.sleep(HOUR)


def one_logs(job):
    """The odd rank writes a little more in every step."""
    job.steps(10)
    job.ready()
    while True:
        if job.odd:
            burn(0.005)
            time.sleep(0.005)
        job.step()


def takes_turns_being_late(job):
    """Each rank is late in every other minute's part, none of them always."""
    job.steps(10)
    job.ready()
    number = 0
    while True:
        if number % job.world == job.rank:
            burn(0.2)
        number += 1
        job.step()


def pipeline(job):
    """Two stages: the second has three times as much to do."""
    import torch
    import torch.distributed as dist

    job.meet()
    layer = torch.nn.Linear(128, 128)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-4)
    message = torch.zeros(8, 128)
    if job.odd:
        job.ready()
    while True:
        if job.rank == 0:
            sent = layer(torch.randn(8, 128))
            burn(0.05)
            dist.send(sent.detach(), 1)
            dist.recv(message, 1)
            sent.backward(message)
        else:
            dist.recv(message, 0)
            got = message.clone().requires_grad_()
            burn(0.15)
            layer(got).square().mean().backward()
            dist.send(got.grad, 0)
        optimizer.step()
        optimizer.zero_grad()


def full_pipe(job):
    """Writes to a program that takes its time."""
    reader, writer = os.pipe()
    slow = "import sys, time\nwhile sys.stdin.buffer.read(65536): time.sleep(0.2)"
    subprocess.Popen([sys.executable, "-c", slow], stdin=reader)
    _is_seen_training(job)
    while True:
        os.write(writer, bytes(65536))


def thread_serves(job):
    """A thread takes the requests, of which there are none; the main one waits for its end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    _is_seen_training(job)
    thread.join()


def streams_to_a_program(job):
    """Its data come through a pipe from a program that works a minute for each."""
    code = "import sys\nwhile True:\n    [compile('x = 1\\n' * 2000, 'm', 'exec') for _ in range(10000)]\n    sys.stdout.write('x' * 65536)"
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    _is_seen_training(job)
    program.stdout.read(1)
