"""A collective that is launched, left alone, and waited for; prints what the page says of it meanwhile.

Rank 1 is late: what rank 0 waits for is that.
"""

import json
import sys
import time

import torch
import torch.distributed as dist

LATE_SECONDS = 0.6


def reported():
    api = sys.modules.get("inprocess.api")
    probe = api.active()
    from inprocess import layout

    at = layout.GROUPS_AT // 8
    row = probe.page.words[at : at + layout.GROUP_SIZE // 8].tolist()
    launched, returned, pending = row[0], row[1], row[layout.GROUP_PENDING // 8]
    return [launched, returned, pending, layout.PHASES[probe.track().top()]]


def in_comm():
    track = sys.modules["inprocess.api"].active().track()
    track.charge()
    from inprocess import layout

    return track.totals()[layout.CODES["comm"]] / 1e9


dist.init_process_group("gloo")
dist.barrier()
found = {"before": reported()}
if dist.get_rank() == 1:
    time.sleep(LATE_SECONDS)
work = dist.all_reduce(torch.ones(4), async_op=True)
found["launched"] = reported()
before = in_comm()
time.sleep(LATE_SECONDS / 6)  # what it is overlapped with
found["in_comm_overlapped"] = in_comm() - before
before = in_comm()
began = time.perf_counter()
work.wait()
found["waited_seconds"] = time.perf_counter() - began
found["in_comm_waiting"] = in_comm() - before
found["waited"] = reported()
dist.all_reduce(torch.ones(4), async_op=True)
found["let go of"] = reported()
dist.barrier()
print(json.dumps(found))
dist.destroy_process_group()
