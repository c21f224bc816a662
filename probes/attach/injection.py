"""Loading the probe into a running Python, by the way that Python itself offers: ``sys.remote_exec``.

It needs Python 3.14 or later, and a caller of the very same minor version: the target's own executable
is started for that. The script runs when the main thread gets back to Python code; while that waits in
a collective, it does not. Debuggers (gdb, lldb, ptrace) are never used: whatever they call may need a
lock that the stopped thread holds, and then the training job hangs for good.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from .control_client import ProbeError, ask
from .preload import SHIM

OLDEST = (3, 14)
CALL_SECONDS = 20.0
WAIT_SECONDS = 5.0
_POLL_SECONDS = 0.1
_CALLER = """
import sys
version = "%d.%d" % sys.version_info[:2]
if not hasattr(sys, "remote_exec"):
    print("it runs Python " + version)
    sys.exit(3)
try:
    sys.remote_exec(int(sys.argv[1]), sys.argv[2])
except Exception as error:
    print("%s: %s" % (type(error).__name__, error))
    sys.exit(4)
"""
_SCRIPT = """
import os, sys
try:
    os.unlink({script!r})
    sys.path.insert(0, {shim!r})
    try:
        import gputop_shim
    finally:
        sys.path.remove({shim!r})
    gputop_shim.attach_now()
except Exception:
    pass
"""


class InjectionError(Exception):
    """The probe is not in. The text is one sentence for people."""


def inject(pid: int) -> None:
    """Load the probe into a process and wait until it answers.

    Raises:
        InjectionError: it cannot be done, or has not happened yet.
    """
    if _answers(pid):
        return
    interpreter = _interpreter_of(pid)
    script = _write_script(pid)
    try:
        called = subprocess.run(
            [interpreter, "-I", "-S", "-c", _CALLER, str(pid), str(script)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        script.unlink(missing_ok=True)
        raise InjectionError(f"{interpreter} could not be asked: {error}") from error
    if called.returncode != 0:
        script.unlink(missing_ok=True)
        raise InjectionError(_refusal(pid, called))
    _wait(pid, script)


def _answers(pid: int) -> bool:
    try:
        return bool(ask(pid, {"command": "status"}, seconds=1))
    except ProbeError:
        return False


def _interpreter_of(pid: int) -> str:
    path = ""
    try:
        path = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - the text, "(deleted)" included
        same = os.path.samestat(os.stat(path), os.stat(f"/proc/{pid}/exe"))  # noqa: PTH116
    except FileNotFoundError:
        same = False
        if not Path(f"/proc/{pid}").exists():
            raise InjectionError(f"there is no process {pid}") from None
    except OSError as error:
        raise InjectionError(f"process {pid} is not ours to change: {error.strerror}") from error
    if not same:
        raise InjectionError(
            f"the interpreter of process {pid} is not on this file system: run gputop in its container"
        )
    if not Path(path).name.startswith("python"):
        raise InjectionError(f"process {pid} runs {path}, which is not a Python interpreter")
    return path


def _write_script(pid: int) -> Path:
    descriptor, path = tempfile.mkstemp(prefix="gputop-", suffix=".py")
    with os.fdopen(descriptor, "w") as file:
        file.write(_SCRIPT.format(script=path, shim=str(SHIM)))
        if os.geteuid() == 0:  # so that the process can read it, and remove it
            owner = os.stat(f"/proc/{pid}")  # noqa: PTH116
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return Path(path)


def _refusal(pid: int, called: subprocess.CompletedProcess[str]) -> str:
    said = (called.stdout.strip() or called.stderr.strip()).partition("\n")[0]
    if called.returncode == 3:
        return (
            f"process {pid} cannot be given a probe while it runs: {said}, and only "
            f"{OLDEST[0]}.{OLDEST[1]} and later allow that; start it with `gputop run -- …`"
        )
    return f"process {pid} refused the probe: {said}"


def _wait(pid: int, script: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if not script.exists() and _answers(pid):
            return
        time.sleep(_POLL_SECONDS)
    if script.exists():
        raise InjectionError(
            f"process {pid} has been asked, but its main thread has not come back to Python code "
            f"within {WAIT_SECONDS:g} s; the probe starts when it does"
        )
    raise InjectionError(f"the probe was loaded into process {pid}, and did not start")
