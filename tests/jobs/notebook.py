"""A Jupyter kernel, and a client of it that runs a cell for each line of its standard input.

Usage: notebook.py. A line is a cell as JSON text; the answer is a line of JSON: the kernel's pid, and the
name of the error that the cell has ended with, or null.
"""

import json
import sys

from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    for line in sys.stdin:
        reply = client.execute_interactive(
            json.loads(line), timeout=120, store_history=False, output_hook=lambda _message: None
        )["content"]
        print(json.dumps([manager.provisioner.pid, reply.get("ename")]), flush=True)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
