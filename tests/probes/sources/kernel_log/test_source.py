"""The kernel's log as a source: what was before, what comes, what is refused, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gputop.probes.model.kernel_log import KernelLogReading
from gputop.probes.sources.kernel_log.journal import Journal
from gputop.probes.sources.kernel_log.source import KernelLogSource
from gputop.probes.sources.protocol import SourceAbsent, SourceDenied, SourceError

from support.another_user import AS_ANOTHER

XID = "NVRM: Xid (PCI:0000:3b:00): {code}, pid=1234, name=python, text"
MOST_CPU_SECONDS = 0.3
"""Of a first look, whatever is in the log."""
INITIAL, ANOTHER = "pid:[4026531836]", "pid:[4026532999]"


class Tree:
    """A root with a log in it."""

    def __init__(self, root: Path, namespace: str = INITIAL) -> None:
        self.root = root
        (root / "dev").mkdir()
        (root / "proc/self/ns").mkdir(parents=True)
        (root / "proc/self/ns/pid").symlink_to(namespace)
        self.log = root / "dev/kmsg"
        self.log.write_bytes(b"")

    def say(self, text: str, *, ago: float = 0.0, priority: int = 3) -> None:
        """As a record; what would be from before this machine was started, as the journal has it."""
        stamp = time.monotonic() - ago
        record = f"{priority},1,{int(stamp * 1e6)},-;{text}\n SUBSYSTEM=pci\n"
        dated = f"{time.time() - ago:.6f} node17 kernel: {text}\n"
        with self.log.open("ab") as log:
            log.write((record if stamp > 0 else dated).encode())

    def source(self) -> KernelLogSource:
        return KernelLogSource(self.root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def codes(readings: tuple[KernelLogReading, ...]) -> list[tuple[int | None, bool]]:
    return [(reading.code, reading.before_start) for reading in readings]


def test_what_was_before_and_what_comes(tree: Tree) -> None:
    tree.say(XID.format(code=48), ago=600.0)
    source = tree.source()
    (old,) = source.read()
    assert (old.code, old.pid, old.command_name, old.before_start) == (48, 1234, "python", True)
    assert old.time_seconds == pytest.approx(time.time() - 600.0, abs=2.0)
    tree.say(XID.format(code=79))
    assert codes(source.read()) == [(48, True), (79, False)]
    assert codes(source.read()) == [(48, True), (79, False)], "they are told again in each sample"
    source.close()


def test_a_line_that_is_not_whole_yet_waits(tree: Tree) -> None:
    source = tree.source()
    assert source.read() == ()
    stamp = int(time.monotonic() * 1e6)
    with tree.log.open("ab") as log:
        log.write(f"3,1,{stamp},-;NVRM: Xid (PCI:0000:3b:00): 7".encode())
        log.flush()
        assert source.read() == ()
        log.write(b"9, pid=1, name=x, lost\n")
    assert codes(source.read()) == [(79, False)]


def test_a_fifo(tree: Tree) -> None:
    tree.log.unlink()
    os.mkfifo(tree.log)
    source = tree.source()
    assert source.read() == ()
    tree.say(XID.format(code=31))
    assert codes(source.read()) == [(31, False)]
    source.close()


def test_a_log_that_is_written_anew(tree: Tree) -> None:
    tree.say("x" * 500)
    source = tree.source()
    source.read()
    tree.log.write_bytes(b"")
    tree.say(XID.format(code=31))
    assert codes(source.read()) == [(31, False)]


def test_the_same_within_a_minute_is_counted(tree: Tree) -> None:
    error = "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
    for number in range(50):
        tree.say(error, ago=300.0 - number * 0.1)
    tree.say(error, ago=100.0)
    first, second = tree.source().read()
    assert (first.count, second.count, first.level) == (50, 1, "corrected")
    assert first.time_seconds and first.first_time_seconds
    assert first.time_seconds - first.first_time_seconds == pytest.approx(4.9, abs=0.1)


def test_a_storm_pushes_out_no_other(tree: Tree) -> None:
    tree.say(XID.format(code=79), ago=5000.0)
    for number in range(3000):
        tree.say(f"I/O error, dev sd{number % 200}, sector {number}", ago=4000.0 - number)
    readings = tree.source().read()
    assert 79 in {reading.code for reading in readings}
    assert len(readings) <= 60


def test_after_a_day_it_is_the_logs_alone_unless_it_still_holds(tree: Tree) -> None:
    tree.say(XID.format(code=79), ago=90_000.0)
    tree.say("nfs: server a not responding, still trying", ago=90_000.0)
    assert [reading.kind for reading in tree.source().read()] == ["server not responding"]


def test_what_grows_old_while_the_log_is_silent(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.say(XID.format(code=79))
    source = tree.source()
    assert codes(source.read()) == [(79, True)]
    wall, monotonic = time.time, time.monotonic
    with monkeypatch.context() as later:
        later.setattr(time, "time", lambda: wall() + 90_000.0)
        later.setattr(time, "monotonic", lambda: monotonic() + 90_000.0)
        assert source.read() == ()


def test_an_oom_kill_has_its_control_groups(tree: Tree) -> None:
    tree.say(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,"
        "oom_memcg=/job,task_memcg=/job/step,task=python,pid=77,uid=1"
    )
    tree.say("Memory cgroup out of memory: Killed process 77 (python) total-vm:9kB, anon-rss:4kB")
    (kill,) = tree.source().read()
    assert (kill.pid, kill.cgroup, kill.limited_cgroup) == (77, "/job/step", "/job")
    assert kill.anonymous_bytes == 4096


def test_pids_of_the_host_mean_nothing_in_a_container(tmp_path: Path) -> None:
    tree = Tree(tmp_path, ANOTHER)
    tree.say(XID.format(code=31))
    (xid,) = tree.source().read()
    assert xid.pid is None and "of the host" in xid.missing["pid"]
    assert xid.command_name == "python"


def test_secrets_are_masked(tree: Tree) -> None:
    tree.say("nvme nvme0: I/O 1 password=hunter2000 timeout, aborting")
    (line,) = tree.source().read()
    assert "hunter2000" not in line.text and line.kind == "disk error"


def test_clocks_that_jump(tree: Tree) -> None:
    stamp = int((time.monotonic() + 1e6) * 1e6)
    tree.log.write_text(
        f"3,1,{stamp},-;{XID.format(code=79)}\n"
        f"<3>{XID.format(code=31)}\n"
        f"9999999999.000000 host kernel: {XID.format(code=48)}\n"
        f"3,1,999999999999999999,-;{XID.format(code=94)}\n"
    )
    by_code = {reading.code: reading for reading in tree.source().read()}
    assert by_code[31].time_seconds is None and "no times" in by_code[31].missing["time_seconds"]
    for code in (79, 48, 94):
        moment = by_code[code].time_seconds
        assert moment is not None and moment <= time.time() + 1.0, "nothing is from the future"


def test_what_comes_while_we_look_is_of_now_whatever_the_logs_clock_says(tree: Tree) -> None:
    source = tree.source()
    source.read()
    tree.say(XID.format(code=79), ago=500.0)  # its clock has run apart from ours in weeks
    (xid,) = source.read()
    assert xid.time_seconds == pytest.approx(time.time(), abs=5.0)


def test_a_node_that_has_slept(tree: Tree) -> None:
    tree.say(XID.format(code=48), ago=300.0)
    tree.say("PM: Timekeeping suspended for 7200.000 seconds", ago=200.0)
    tree.say(XID.format(code=79), ago=100.0)
    before, after = tree.source().read()
    assert before.time_seconds == pytest.approx(time.time() - 7500.0, abs=2.0)
    assert after.time_seconds == pytest.approx(time.time() - 100.0, abs=2.0)
    assert (before.earlier_seconds, after.earlier_seconds) == (0.0, 0.0), "the log says when"


def sentence(root: Path) -> str:
    with pytest.raises(SourceError) as refused:
        KernelLogSource(root).read()
    return refused.value.reason


def test_none_and_one_that_is_something_else(tree: Tree) -> None:
    tree.log.unlink()
    with pytest.raises(SourceAbsent, match="run gputop on the host"):
        tree.source().read()
    tree.log.symlink_to("/dev/null")  # as some containers have it
    assert "run gputop on the host" in sentence(tree.root)


READ = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from gputop.probes.sources.kernel_log.source import KernelLogSource\n"
    "from gputop.probes.sources.protocol import SourceError\n"
    "source = KernelLogSource(Path(sys.argv[1]))\n"
    "began = time.process_time()\n"
    "try:\n"
    "    print('ok', len(source.read()), source.rest_seconds)\n"
    "except SourceError as error:\n"
    "    took = time.process_time() - began\n"
    "    print(error.status, error.reason, source.rest_seconds, took, sep='|')\n"
)


def as_another(root: Path) -> str:
    command = [*AS_ANOTHER, sys.executable, "-P", "-c", READ, str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_one_that_may_not_be_read_says_what_would_help(tree: Tree) -> None:
    for folder in (tree.root, *list(tree.root.parents)[:-2]):
        folder.chmod(0o755)
    tree.log.chmod(0o600)
    state, reason, rests, took = as_another(tree.root).split("|")
    assert state == "denied"
    assert "kernel.dmesg_restrict=0" in reason and "\n" not in reason
    assert float(rests) == 60.0, "it is not asked for at each tick"
    assert float(took) < MOST_CPU_SECONDS


def test_the_log_of_this_machine() -> None:
    source = KernelLogSource()
    try:
        assert all(reading.text for reading in source.read())
        assert source.read() is not None
    except (SourceDenied, SourceAbsent) as refused:
        assert refused.reason
    finally:
        source.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_log_of_this_machine_for_a_user() -> None:
    restricted = Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() != "0"
    found = as_another(Path("/"))
    assert found.startswith("denied|" if restricted else ("ok", "absent|"))


MATCHING = (XID.format(code=79), "nfs: server a not responding", "I/O error, dev sda, sector 1")
OTHER_CLOCKS = (
    "3,1,999999999999999999,-;",
    "<3>",
    "9999999999.000000 host kernel: ",
    "[99999999.999999] ",
    "0000000001.000000 host kernel: ",
)
LOGS = {
    "matching": "".join(f"3,1,1,-;{line}\n" for line in MATCHING).encode(),
    "other clocks": "".join(
        f"{clock}{line}\n" for clock in OTHER_CLOCKS for line in MATCHING
    ).encode(),
    "garbage": b"",
    "one line": b"x" * (1 << 16),
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("kind", LOGS)
def test_a_hundred_megabytes_cost_little(tree: Tree, kind: str) -> None:
    block = LOGS[kind] or os.urandom(1 << 16) + b"\n"
    with tree.log.open("wb") as log:
        for _ in range((100 << 20) // len(block)):
            log.write(block)
        log.write(b"\n")
    tree.say(XID.format(code=48))
    source = tree.source()
    began = time.process_time()
    readings = source.read()
    took = time.process_time() - began
    began = time.process_time()
    assert source.read() == readings
    again = time.process_time() - began
    assert took < MOST_CPU_SECONDS and again < MOST_CPU_SECONDS / 10, (took, again)
    assert 48 in {reading.code for reading in readings}
    assert all(
        reading.time_seconds is None or reading.time_seconds < time.time() + 1.0
        for reading in readings
    )
    source.close()


def journal(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Journal:
    program = folder / "journalctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return Journal()


def test_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "1763629701.500000 node17 kernel: nfs: server a OK"
    script = f'echo "$@" >> {tmp_path}/asked; echo "{line}"'
    reader = journal(tmp_path, script, monkeypatch)
    assert reader.take() == reader.take() == f"{line}\n".encode()
    first, second = (tmp_path / "asked").read_text().splitlines()
    assert "-k -b" in first and "--since" not in first and "--since @" in second


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo 'No journal files were opened due to insufficient permissions.' >&2", SourceDenied),
        ("exit 0", SourceAbsent),
        ("exit 3", SourceError),
    ],
)
def test_a_journal_that_gives_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, error: type[SourceError]
) -> None:
    with pytest.raises(error):
        journal(tmp_path, script, monkeypatch).take()
