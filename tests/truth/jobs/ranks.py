"""Starts so many ranks as mpirun would, and waits for them: ``python ranks.py COUNT COMMAND...``."""

import os
import socket
import subprocess
import sys

count = int(sys.argv[1])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
ranks = [
    subprocess.Popen(
        sys.argv[2:],
        env={
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(count),
            "LOCAL_WORLD_SIZE": str(count),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        },
    )
    for rank in range(count)
]
# Whoever ends first is waited for first: a killed rank does not stay a zombie.
sys.exit(max(abs(os.waitstatus_to_exitcode(os.wait()[1])) for _ in ranks))
