"""Collectives that not all ranks come to, or that one comes to alone. There are three ranks."""

import os
import signal
import threading
import time

from common import HOUR, burn


def _tensor():
    import torch

    return torch.ones(4)


def _begin(job):
    """Train a while; returns a second group of all ranks."""
    import torch.distributed as dist

    job.steps()
    second = dist.new_group(list(range(job.world)))
    job.steps(5)
    return second


def additional(job):
    """The odd rank does one more, in a group where nobody else comes."""
    import torch.distributed as dist

    second = _begin(job)
    if job.odd:
        job.ready()
        dist.all_reduce(_tensor(), group=second)
    job.train()


def skipped(job):
    """All but the odd rank meet in the second group; it goes on with the training."""
    import torch.distributed as dist

    second = _begin(job)
    if job.odd:
        job.ready()
    else:
        dist.all_reduce(_tensor(), group=second)
    job.train()


def another(job):
    """The odd rank calls a barrier where the others reduce."""
    import torch.distributed as dist

    _begin(job)
    if job.odd:
        job.ready()
        dist.barrier()
    else:
        dist.all_reduce(_tensor())
    job.train()


def lone_barrier(job):
    """``if rank == 1: barrier()``."""
    import torch.distributed as dist

    job.steps()
    if job.odd:
        job.ready()
        dist.barrier()
    job.train()


def opposite_groups(job):
    """Two groups used in opposite order: a cycle, in which nobody is alone to blame."""
    import torch.distributed as dist

    second = _begin(job)
    third = dist.new_group([0, 1])
    if job.rank == 0:
        job.ready()
        dist.all_reduce(_tensor(), group=third)
        dist.all_reduce(_tensor(), group=second)
    dist.all_reduce(_tensor(), group=second)
    dist.all_reduce(_tensor(), group=third)


def out_of_data(job):
    """The odd rank's data has ended; it waits at the barrier behind the loop."""
    import torch.distributed as dist

    job.steps()
    if job.odd:
        job.ready()
        dist.barrier()
        return
    job.train()


def sits_in_exit(job):
    """The odd rank has finished, but a thread that is no daemon keeps its interpreter."""
    job.steps()
    if job.odd:
        threading.Thread(target=time.sleep, args=(HOUR,), name="uploader").start()
        job.ready()
        return
    job.train()


def sits_in_join(job):
    """The odd rank has finished, and joins a thread that does not end."""
    job.steps()
    if job.odd:
        thread = threading.Thread(target=time.sleep, args=(HOUR,), name="uploader", daemon=True)
        thread.start()
        job.ready()
        thread.join()
        return
    job.train()


def killed(job):
    """The odd rank dies by a signal; the others wait for a key of the store that it should have set."""
    from torch.distributed import distributed_c10d as c10d

    job.steps()
    if job.odd:
        job.soon()
        while not job.due():
            time.sleep(0.1)
        job.ready()
        os.kill(os.getpid(), signal.SIGKILL)
    c10d._get_default_store().get("from-the-odd-rank")


def straggles(job):
    """The odd rank computes four times as long as the others in every step."""
    job.steps(10)
    job.others_ready()
    while True:
        if job.odd:
            burn(0.3)
        job.step()
