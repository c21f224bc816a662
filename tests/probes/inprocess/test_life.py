"""From its first moment to its end, a probe harms nothing and leaves what should be left."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gputop.probes.inprocess import layout

from support.probe_job import FOLDER, job
from support.terminal import wait_until

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems: needs root")


def test_the_page_is_made_for_its_owner_alone() -> None:
    with job("say(attached.running)\ntime.sleep(60)") as running:
        assert running.line() == "True"
        (page,) = running.pages()
        assert page.stat().st_mode & 0o777 == 0o400
        assert page.parent.stat().st_mode & 0o777 == 0o700
        assert page.stat().st_size == layout.PAGE_SIZE
        assert page.stat().st_blocks * 512 >= layout.PAGE_SIZE, "reserved, not sparse"
        pid, ticks = page.stem.split("-")
        assert int(pid) == running.pid
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        assert ticks == stat[19]


def test_nothing_is_left_after_a_clean_end() -> None:
    with job("with gputop.phase('data'): pass") as running:
        assert running.end() == 0
        assert running.pages() == []


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("os._exit(3)", 3),
        ("raise RuntimeError('loss is NaN')", 1),
    ],
)
def test_a_bad_end_leaves_the_page(last: str, status: int) -> None:
    with job(
        f"depth = gputop.active().track().enter({layout.CODES['backward']})\n{last}"
    ) as running:
        assert running.end() == status
        assert len(running.pages()) == 1
        if status < 0:
            assert running.phase() == "backward"


def test_the_page_of_a_stopped_process_can_be_read() -> None:
    with job("with gputop.phase('backward'):\n  say('in')\n  time.sleep(60)") as running:
        assert running.line() == "in"
        os.kill(running.pid, signal.SIGSTOP)
        wait_until(
            lambda: Path(f"/proc/{running.pid}/stat").read_text().split()[2] == "T",
            10,
            "it stopped",
        )
        assert running.phase() == "backward"


def test_the_page_can_be_read_while_c_holds_the_interpreter() -> None:
    held = "import ctypes\nwith gputop.phase('optimizer'):\n  say('in')\n"
    held += "  ctypes.PyDLL(None).sleep(10)"
    with job(held) as running:
        assert running.line() == "in"
        time.sleep(1.5)
        began = time.perf_counter()
        assert running.phase() == "optimizer"
        word = running.words()[layout.SLOTS_AT // 8]
        moment, _ = layout.unword(word, time.perf_counter_ns())
        assert time.perf_counter_ns() - moment >= 1.4e9
        assert time.perf_counter() - began < 1.0


def test_a_forked_child_leaves_the_parents_page_alone() -> None:
    code = """
with gputop.phase('data'):
    pid = os.fork()
    if not pid:
        assert gputop.active() is None
        with gputop.phase('eval'):
            gputop.step(samples=5)
        os._exit(7)
    status = os.waitpid(pid, 0)[1]
    say(os.waitstatus_to_exitcode(status))
    time.sleep(60)
"""
    with job(code) as running:
        assert running.line() == "7"
        assert running.phase() == "data"
        assert len(running.pages()) == 1
        assert not any(running.words().cast("B")[layout.EVALUATIONS_AT : layout.SLOTS_AT])


def test_a_forked_child_may_have_a_page_of_its_own() -> None:
    code = """
pid = os.fork()
if not pid:
    assert gputop.attach()
    with gputop.phase('eval'):
        say('in')
        time.sleep(60)
time.sleep(60)
"""
    with job(code) as running:
        assert running.line() == "in"
        pages = running.pages()
        assert len(pages) == 2
        child = next(
            int(each.stem.split("-")[0]) for each in pages if str(running.pid) not in each.name
        )
        os.kill(child, signal.SIGKILL)


def test_forking_while_the_facts_are_being_written_does_not_hang() -> None:
    code = """
probe = gputop.active()
def write():
    while True: probe.tell(job_name='x' * 100)
for _ in range(3): threading.Thread(target=write, daemon=True).start()
for _ in range(60):
    pid = os.fork()
    if not pid:
        gputop.active(); os._exit(0)
    os.waitpid(pid, 0)
say('done')
os._exit(0)
"""
    with job(code) as running:
        assert running.line() == "done"


def test_an_exec_takes_the_page_over() -> None:
    code = f"""
if not os.environ.get('AGAIN'):
    os.environ['AGAIN'] = '1'
    begin = 'import sys; sys.path.insert(0, sys.argv[1]); import inprocess.api as g; '
    begin += 'print(g.attach().running, flush=True)'
    os.execv(sys.executable, [sys.executable, '-c', begin, {str(FOLDER)!r}])
"""
    with job(code) as running:
        assert running.line() == "True"
        assert running.end() == 0
        assert running.pages() == []


def test_threads_have_slots_of_their_own_and_give_them_back() -> None:
    code = """
def work(name):
    with gputop.phase(name): time.sleep(0.01)
for _ in range(5):
    threads = [threading.Thread(target=work, args=('eval',)) for _ in range(40)]
    for each in threads: each.start()
    for each in threads: each.join()
def last():
    with gputop.phase('checkpoint'):
        say('in'); time.sleep(60)
threading.Thread(target=last, daemon=True).start()
time.sleep(60)
"""
    with job(code) as running:
        assert running.line() == "in"
        assert "checkpoint" in {running.phase(slot) for slot in range(1, layout.THREADS)}


def test_a_place_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    with job("say(gputop.active().page.path)", XDG_RUNTIME_DIR=str(tmp_path)) as running:
        path = Path(running.line())  # pytest's folder is on a disk, unless somebody mounted it so
        assert tmp_path not in path.parents or "tmpfs" in _file_system(tmp_path)


@pytest.mark.parametrize("fault", ["open to others", "a link", "a file"])
def test_a_directory_that_somebody_prepared_is_not_trusted(fault: str) -> None:
    with job("time.sleep(60)") as helper:
        folder = helper.runtime / "other"
        folder.mkdir()
        squatted = folder / "gputop"
        match fault:
            case "open to others":
                squatted.mkdir(mode=0o755)
            case "a link":
                (folder / "elsewhere").mkdir(mode=0o700)
                squatted.symlink_to("elsewhere")
            case _:
                squatted.write_text("")
        with job("say(gputop.active().page.path)", XDG_RUNTIME_DIR=str(folder)) as running:
            assert folder not in Path(running.line()).parents
        if fault != "a file":
            assert list(squatted.iterdir()) == []


@root_only
@pytest.mark.parametrize(
    ("options", "reported"), [("size=64k", "No space left"), ("ro", "Read-only file system")]
)
def test_with_no_place_left_the_job_runs_on(options: str, reported: str) -> None:
    mounts = [f"mount -t tmpfs -o {options} none {path}" for path in ("/dev/shm", "/run")]
    under = ("unshare", "--mount", "sh", "-c", " && ".join(mounts) + ' && exec "$@"', "sh")
    code = "say(attached.running, attached.reason)\n"
    code += "with gputop.phase('data'): pass\ngputop.step()\nsay('ran')"
    with job(code, before=under, XDG_RUNTIME_DIR="/nowhere") as running:
        first = running.line()
        assert first.startswith("False")
        assert reported in first
        assert running.line() == "ran"
        assert running.end() == 0


@root_only
def test_a_tmpfs_that_is_filled_later_kills_nobody() -> None:
    under = (
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs -o size=1m none /run && exec "$@"',
        "sh",
    )
    code = """
say(gputop.active().page.path.startswith('/run/'))
with open('/run/full', 'wb') as file:
    try:
        file.write(bytes(4 << 20)); file.flush()
    except OSError as error: say(error.errno)
probe = gputop.active()
for slot in range(12):
    threading.Thread(target=lambda: gputop.phase('eval').__enter__()).start()
for number in range(3000):
    with gputop.phase('data'): pass
    gputop.step()
for number in range(500): probe.tell(job_name='x' * number)
say('ran')
"""
    with job(code, before=under, XDG_RUNTIME_DIR="/run") as running:
        assert running.line() == "True"
        assert running.line() == "28"
        assert running.line() == "ran"
        assert running.end() == 0


def test_importing_has_no_effect() -> None:
    code = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); before = sys.modules.keys() | set()\n"
    code += "import inprocess.api, threading, gc\n"
    code += "assert not gc.callbacks and threading.active_count() == 1\n"
    code += "assert not [m for m in sys.modules if m.split('.')[0] in "
    code += "('torch', 'psutil', 'textual', 'rich', 'pynvml', 'msgspec', 'socket')]\n"
    # What `attach` loads in the job's own thread: each of these takes longer than all of the probe.
    code += "import inprocess.page, inprocess.probe, inprocess.after_import\n"
    code += "costly = {'typing', 're', 'json', 'socket', 'ctypes', 'enum'} & sys.modules.keys()\n"
    code += "assert not costly, costly\n"
    code += "assert inprocess.api.active() is None\nwith inprocess.api.phase('eval'): pass\n"
    code += "inprocess.api.step()"
    subprocess.run([sys.executable, "-S", "-c", code], check=True, timeout=60)


def test_switched_off_by_the_environment() -> None:
    with job("say(attached.running, attached.reason)", GPUTOP_PROBE="0") as running:
        assert running.line() == "False switched off by GPUTOP_PROBE"
        running.end()
        assert not (running.runtime / "gputop").exists()


def test_a_sigterm_ends_the_job_as_without_the_probe() -> None:
    with job("say('in')\ntime.sleep(60)") as running:
        running.line()
        os.kill(running.pid, signal.SIGTERM)
        assert running.end() == -signal.SIGTERM


def test_a_long_collection_is_the_phase_while_it_lasts() -> None:
    code = """
import gc
class Slow:
    def __del__(self): say('collecting'); time.sleep(3)
with gputop.phase('forward'):
    one = Slow(); one.self = one; del one
    gc.collect()
    say('after'); time.sleep(60)
"""
    with job(code) as running:
        assert running.line() == "collecting"
        assert running.phase() == "gc"
        assert running.line() == "after"
        assert running.phase() == "forward"


def _file_system(path: Path) -> str:
    return subprocess.run(
        ["stat", "-f", "-c", "%T", str(path)], capture_output=True, text=True, check=True
    ).stdout


def test_a_page_is_small_enough_for_a_containers_shared_memory() -> None:
    # Docker gives /dev/shm 64 MiB, of which the loaders want most: 16 ranks must not take a tenth.
    assert 16 * layout.PAGE_SIZE < 64 * 1024 * 1024 / 10


def test_the_word_is_stored_whole() -> None:
    # memoryview stores through a C memcpy of 8 bytes at an aligned address: one instruction.
    assert ctypes.sizeof(ctypes.c_uint64) == memoryview(bytearray(8)).cast("Q").itemsize
    for at in (
        layout.SLOTS_AT,
        layout.SLOT_SIZE,
        layout.RINGS_AT,
        layout.GROUPS_AT,
        layout.GROUP_SIZE,
    ):
        assert at % 8 == 0
