"""Healthy: processes that wait because nobody has given them anything to do."""

import asyncio
import code
import http.server
import multiprocessing
import os
import pty
import queue
import socket
import threading
import time


def _inference(job):
    import torch

    model = torch.nn.Linear(128, 128)

    def answer():
        with torch.no_grad():
            return model(torch.randn(4, 128)).sum().item()

    for _ in range(30):
        answer()
        time.sleep(0.05)
    return answer


def http_server(job):
    """An inference server without requests."""
    _inference(job)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    job.ready()
    server.serve_forever()


def bare_accept(job):
    _inference(job)
    with socket.create_server(("127.0.0.1", 0)) as server:
        job.ready()
        server.accept()


def request_queue(job):
    """An engine whose loop waits for requests that a thread of the server would put."""
    answer = _inference(job)
    requests = queue.Queue()
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=server.accept, name="api-server", daemon=True).start()
    job.ready()
    while requests.get():
        answer()


def engine_workers(job):
    """A server in front of two engine workers that wait for it."""
    fork = multiprocessing.get_context("fork")
    pipes = [fork.Pipe() for _ in range(2)]
    for _, end in pipes:
        fork.Process(target=_work, args=(job, end), daemon=True).start()
    for ours, _ in pipes:
        ours.send("warm up")
        ours.recv()
    with socket.create_server(("127.0.0.1", 0)) as server:
        job.ready()
        server.accept()


def _work(job, end):
    answer = _inference(job)
    while True:
        end.recv()
        end.send(answer())


def actor(job):
    """Did its tasks, which were training steps, and waits for the next from its driver."""
    driver, ours = socket.socketpair()
    job.steps()
    job.ready()
    ours.recv(1)
    driver.close()


def _terminal():
    main, other = pty.openpty()
    os.dup2(other, 0)
    return main


def prompt(job):
    """``python -i train.py``: the training is over, the prompt waits."""
    _terminal()
    job.steps()
    job.ready()
    code.interact(banner="")


def debugger(job):
    """``breakpoint()`` in one process alone: somebody is there who looks at it."""
    _terminal()
    job.steps()
    job.ready()
    input("(Pdb) ")


def notebook(job):
    """A kernel after its cell with the training, in its event loop."""
    job.steps()

    async def serve():
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        job.ready()
        await server.serve_forever()

    asyncio.run(serve())
