"""Run scripts in forks of a process that has imported torch already: the import is most of their time.

Usage: server.py PACKAGE_FOLDER. Reads a request as a line of JSON from its standard input, runs it to
its end, and writes a line with the exit statuses. Runs under the torch interpreter.
"""

import gc
import importlib
import json
import os
import runpy
import socket
import sys
import traceback

sys.path.append(sys.argv[1])  # last: what lies beside the probe must hide nothing of the job


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _run(request, rank):
    out = request["out"]
    for stream, name in ((1, "out"), (2, "err")):
        file = os.open(f"{out}/{rank}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, stream)
    os.environ.update(request["environment"])
    if request["ranks"] > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    sys.argv = [request["script"], *request["arguments"]]
    sys.path.insert(0, os.path.dirname(request["script"]))
    probe = None
    if request["watched"]:
        from inprocess import api

        attached = api.attach()
        if not attached:
            sys.exit(f"not attached: {attached.reason}")
        probe = api.active()
    status = 0
    try:
        runpy.run_path(request["script"], run_name="__main__")
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        sys.last_value = error
        traceback.print_exc()
        status = 1
    # A fork has not the exit handlers of its own alone: those of the job and the probe are called here.
    import atexit

    atexit._run_exitfuncs()
    if probe is not None:
        with open(f"{out}/{rank}.page", "wb") as file:
            file.write(probe.page.view)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch._dynamo  # noqa: F401 - which each optimizer does

    gc.collect()
    for line in sys.stdin:
        request = json.loads(line)
        for name in request["preload"]:
            importlib.import_module(name)
        ranks = request["ranks"]
        if ranks > 1:
            request["environment"].update(
                WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(_free_port())
            )
        children = []
        for rank in range(ranks):
            child = os.fork()
            if not child:
                _run(request, rank)
            children.append(child)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        answers.write(json.dumps(statuses) + "\n")
        answers.flush()


main()
