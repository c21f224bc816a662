"""The control socket answers its own user, and nothing that a client does harms it or the job."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gputop.probes.attach.control_client import ProbeError, ask
from gputop.probes.inprocess.clients import REQUEST_BYTES, REQUEST_SECONDS
from gputop.tui.drawing.glyphs import DASH

from support.probe_job import Job, job
from support.terminal import wait_until

_STEPPING = """
count = 0
while True:
    count += 1
    gputop.step()
    time.sleep(0.01)
"""


@pytest.fixture
def running() -> Iterator[Job]:
    with job("say('up')" + _STEPPING) as started:
        assert started.line() == "up"
        yield started


def connect(running: Job) -> socket.socket:
    (path,) = (running.runtime / "gputop").glob("*.sock")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(6 * REQUEST_SECONDS)
    wait_until(lambda: _connects(connection, path), 20, "there is a place in the queue")
    return connection


def _connects(connection: socket.socket, path: Path) -> bool:
    try:
        connection.connect(str(path))
    except BlockingIOError:
        return False
    return True


def test_only_its_owner_can_reach_it(running: Job) -> None:
    (path,) = (running.runtime / "gputop").glob("*.sock")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("form", ["text", "json"])
def test_status_on_the_command_line(running: Job, form: str) -> None:
    done = probe_command(str(running.pid), "status", "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    if form == "json":
        reported = json.loads(done.stdout)
        assert (reported["pid"], reported["instruments"]["control"]) == (running.pid, "on")
        assert reported["torch_version"] is None and reported["steps_total"] >= 0
        assert reported["schema_version"] == 2
    else:
        assert f"pid: {running.pid}\n" in done.stdout
        assert "instruments.control: on\n" in done.stdout
        assert f"torch: {DASH}\n" in done.stdout


def test_what_is_no_status_takes_no_format(running: Job) -> None:
    done = probe_command(str(running.pid), "stacks", "--format", "json")
    assert done.returncode == 64
    assert "takes no --format" in done.stderr


def probe_command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gputop", "probe", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )


def test_status(running: Job) -> None:
    wait_until(lambda: int(str(ask(running.pid, {"command": "status"})["steps"])) > 3, 10, "steps")
    status = ask(running.pid, {"command": "status"})
    assert status["pid"] == running.pid
    assert status["page"] == str(running.pages()[0])
    assert isinstance(status["instruments"], dict)
    assert status["instruments"]["control"] == "on"


def test_stacks_name_every_thread(running: Job) -> None:
    text = str(ask(running.pid, {"command": "stacks"})["text"])
    assert text.count("Thread 0x") + text.count("thread 0x") == 3  # the loop and two of ours
    assert 'File "<string>"' in text


@pytest.mark.parametrize(
    ("request_line", "said"),
    [
        (b"\x80abc\n", "UnicodeDecodeError"),
        (b"[1, 2]\n", "JSON object"),
        (b'{"command": "explode"}\n', "there is no such command"),
        (b'{"command": {"a": 1}}\n', "there is no such command"),
        (b"[" * 3000 + b"\n", "Recursion"),
        (b'{"command": "profile", "steps": 3, "path": "/tmp/x"}\n', "torch.profiler"),
        (b'{"command": "memory-snapshot"}\n', "torch is not"),
        (b'{"command": "flight-recorder"}\n', "torch.distributed is not"),
    ],
)
def test_a_wrong_request_gets_a_reason(running: Job, request_line: bytes, said: str) -> None:
    with connect(running) as connection:
        connection.sendall(request_line)
        reply = json.loads(connection.makefile("rb").readline())
    assert said in reply["error"]
    assert ask(running.pid, {"command": "status"})["pid"] == running.pid


@pytest.mark.parametrize("sent", [b"", b'{"command": "sta', b"x" * (REQUEST_BYTES + 1), b"\0"])
def test_who_does_not_finish_is_dropped_and_the_next_is_heard(running: Job, sent: bytes) -> None:
    with connect(running) as silent:
        silent.sendall(sent)
        began = time.monotonic()
        assert ask(running.pid, {"command": "status"})["pid"] == running.pid
        assert time.monotonic() - began < 5 * REQUEST_SECONDS
        with contextlib.suppress(ConnectionResetError):  # so it is where we had sent too much
            assert silent.recv(100) == b"", "closed without a word"


def test_one_that_does_not_read_its_answer_is_dropped(running: Job) -> None:
    for _ in range(3):
        connection = connect(running)
        connection.sendall(b'{"command": "stacks"}\n')
        connection.close()
    assert ask(running.pid, {"command": "status"})["pid"] == running.pid


def test_a_crowd_of_the_silent_does_not_stop_the_steps(running: Job) -> None:
    crowd = [connect(running) for _ in range(3)]
    before = int(str(ask(running.pid, {"command": "status"})["steps"]))
    time.sleep(REQUEST_SECONDS + 0.5)
    after = int(str(ask(running.pid, {"command": "status"})["steps"]))
    for each in crowd:
        each.close()
    # About a hundred steps a second are made; a thread that is held up would make none.
    assert after - before > 50


@pytest.mark.parametrize("sent", [b"", b'{"command": "sta', b'{"command": "stacks"}\n'])
def test_any_number_of_half_open_clients_does_not_shut_out_the_next(
    running: Job, sent: bytes
) -> None:
    """Nor does one that asks and does not take its answer."""
    with contextlib.ExitStack() as crowd:
        for _ in range(100):
            connection = crowd.enter_context(connect(running))
            with contextlib.suppress(BrokenPipeError):  # more than it keeps
                connection.sendall(sent)
        began = time.monotonic()
        assert ask(running.pid, {"command": "status"})["pid"] == running.pid
        assert time.monotonic() - began < REQUEST_SECONDS


def test_a_full_queue_is_waited_for(running: Job) -> None:
    """Nobody is accepted while the process is stopped, so the queue of its socket fills up."""
    os.kill(running.pid, signal.SIGSTOP)
    wait_until(lambda: _state(running.pid) == "T", 10, "stopped")
    with contextlib.ExitStack() as crowd:
        (path,) = (running.runtime / "gputop").glob("*.sock")
        with contextlib.suppress(BlockingIOError):
            while True:
                connection = crowd.enter_context(socket.socket(socket.AF_UNIX))
                connection.setblocking(False)
                connection.connect(str(path))
        with pytest.raises(
            ProbeError, match=r"takes no connection within 0\.5 s: others are waiting"
        ):
            ask(running.pid, {"command": "status"}, seconds=0.5)
        later = threading.Timer(0.5, os.kill, (running.pid, signal.SIGCONT))
        later.start()
        assert ask(running.pid, {"command": "status"})["pid"] == running.pid
        later.join()


def test_an_answer_larger_than_a_socket_holds_comes_whole(running: Job) -> None:
    """A request may come in pieces, too."""
    with connect(running) as connection:
        for piece in (b'{"command": ', b'"status"}', b"\n"):
            connection.sendall(piece)
            time.sleep(0.1)
        assert json.loads(connection.makefile("rb").readline())["pid"] == running.pid
    code = "import inprocess.commands as c\n"
    code += "c._status = lambda probe, request: {'long': 'x' * (8 << 20)}\n"
    with job(code + "say('up')\ntime.sleep(60)") as large:
        assert large.line() == "up"
        assert len(str(ask(large.pid, {"command": "status"})["long"])) == 8 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: needs root")
def test_another_user_is_not_heard(running: Job) -> None:
    (path,) = (running.runtime / "gputop").glob("*.sock")
    # As if the directory's and the file's modes had been opened by mistake.
    for each in (running.runtime, path.parent, path):
        each.chmod(0o777)
    code = (
        "import os, socket, sys\n"
        "os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1])\n"
        "try:\n"
        '    s.sendall(b\'{"command": "status"}\\n\')\n'
        "    print(repr(s.recv(100)))\n"
        "except (BrokenPipeError, ConnectionResetError):\n"
        "    print(repr(b''))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "b''\n"


def test_the_server_sleeps_until_it_is_asked() -> None:
    with job(
        "say(*[t.native_id for t in threading.enumerate() if 'control' in t.name])\ntime.sleep(60)"
    ) as idle:
        status = Path(f"/proc/{idle.pid}/task/{idle.line()}/status")
        assert ask(idle.pid, {"command": "status"})["pid"] == idle.pid
        time.sleep(0.5)
        before = _switches(status.read_text())
        time.sleep(1)
        assert _switches(status.read_text()) == before


def _switches(status: str) -> list[str]:
    return [line for line in status.splitlines() if "ctxt_switches" in line]


def test_a_forked_child_does_not_serve() -> None:
    code = (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    say('child'); time.sleep(60); os._exit(0)\n"
        "say('parent', child); time.sleep(60)\n"
    )
    with job(code) as forking:
        lines = {forking.line(), forking.line()}
        (child,) = (int(line.split()[1]) for line in lines if line.startswith("parent"))
        assert ask(forking.pid, {"command": "status"})["pid"] == forking.pid
        try:
            with pytest.raises(ProbeError):
                ask(child, {"command": "status"}, seconds=5)
            sockets = [link for link in _descriptors(child) if link.startswith("socket:")]
            assert sockets == []
        finally:
            os.kill(child, signal.SIGKILL)


def _descriptors(pid: int) -> list[str]:
    folder = Path(f"/proc/{pid}/fd")
    return [str(each.readlink()) for each in folder.iterdir()]


def test_a_stopped_process_is_reported_of(running: Job) -> None:
    os.kill(running.pid, signal.SIGSTOP)
    wait_until(lambda: _state(running.pid) == "T", 10, "stopped")
    with pytest.raises(ProbeError, match="did not answer within 1 s"):
        ask(running.pid, {"command": "status"}, seconds=1)
    os.kill(running.pid, signal.SIGCONT)
    assert ask(running.pid, {"command": "status"})["pid"] == running.pid


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def test_somebody_else_s_socket_in_its_place_is_refused(running: Job) -> None:
    (path,) = (running.runtime / "gputop").glob("*.sock")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(str(path))
        squatter.listen()
        with pytest.raises(ProbeError, match="another process listens"):
            ask(running.pid, {"command": "status"})


def test_a_process_without_a_probe_is_reported_why() -> None:
    with pytest.raises(ProbeError, match=r"gputop run -- …"):
        ask(os.getpid(), {"command": "status"})


def test_the_peer_is_read_as_the_kernel_lays_it_out() -> None:
    one, other = socket.socketpair()
    with one, other:
        peer = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    assert struct.unpack("3i", peer) == (os.getpid(), os.geteuid(), os.getegid())
