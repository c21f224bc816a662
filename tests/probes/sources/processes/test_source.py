"""Which processes are read, and what of each: over a made tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gputop.probes.model.process_readings import ProcessReading
from gputop.probes.sources.processes import source as proc
from gputop.probes.sources.processes.source import ProcessSource
from gputop.probes.sources.procfs.files import Descriptors, KeptFiles
from gputop.probes.sources.protocol import SourceAbsent, SourceDenied
from gputop.probes.sources.watchlist import Watchlist

from fixtures.proc_tree import ProcTree

RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "HOME": "/secret"}


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


class Reader:
    """A source, and what it read last by pid."""

    def __init__(self, tree: ProcTree, *pids: int) -> None:
        self.watchlist = Watchlist()
        self.watchlist.set_gpu(0, pids)
        self.source = ProcessSource(self.watchlist, tree.root)

    def __call__(self) -> dict[int, ProcessReading]:
        return {reading.pid: reading for reading in self.source.read()}


def torchrun(tree: ProcTree) -> None:
    """sshd → login shell → torchrun → two ranks, the first with two workers, one with a child."""
    tree.process(1, parent=0, name="systemd")
    tree.process(50, name="sshd-session")
    tree.process(60, parent=50, name="bash", command=["-bash"])
    tree.process(
        70, parent=60, name="torchrun", command=["torchrun", "train.py"], children=[80, 81]
    )
    tree.process(80, parent=70, environment=RANK, children=[90, 91], pids=(80, 8))
    tree.process(81, parent=70, environment=RANK | {"RANK": "1", "LOCAL_RANK": "1"})
    tree.process(90, parent=80, environment=RANK)
    tree.process(91, parent=80, environment=RANK)
    tree.process(95, parent=91, name="ffmpeg", command=["ffmpeg"])
    tree.process(99, parent=60, name="vim", command=["vim"])


def test_the_whole_job_is_found_from_one_rank(tree: ProcTree) -> None:
    torchrun(tree)
    assert sorted(Reader(tree, 80)()) == [60, 70, 80, 81, 90, 91, 95]


def by_hand(tree: ProcTree, *, wrapped: bool, shell: tuple[str, ...]) -> None:
    """A shell that starts three ranks, perhaps each by a script, and other things too."""
    tree.process(50, name="sshd-session")
    tree.process(60, parent=50, name="bash", command=shell, children=[70, 71, 72, 98, 99])
    tree.process(99, parent=60, name="vim", command=["vim"])
    tree.process(98, parent=60, command=["python", "plot.py"])
    tree.process(
        97, parent=60, command=["python", "old.py"], environment=RANK | {"WORLD_SIZE": "1"}
    )
    for rank in range(3):
        named = {"RANK": str(rank), "WORLD_SIZE": "3"}
        above = 60
        if wrapped:
            tree.process(
                above := 70 + rank,
                parent=60,
                name="bash",
                command=["bash", "one.sh"],
                environment=named,
                children=[80 + rank],
            )
        tree.process(80 + rank, parent=above, environment=named, children=[90 + rank])
        tree.process(90 + rank, parent=80 + rank, environment=named)


@pytest.mark.parametrize("shell", [("bash", "all.sh"), ("-bash",)], ids=["script", "prompt"])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("asked", [80, 81, 92])
def test_ranks_started_by_hand_are_found_from_any_of_them(
    tree: ProcTree, shell: tuple[str, ...], wrapped: bool, asked: int
) -> None:
    by_hand(tree, wrapped=wrapped, shell=shell)
    read = Reader(tree)
    read.watchlist.attach(asked)
    wrappers = {70, 71, 72} if wrapped else set[int]()
    for _ in range(2):
        assert set(read()) == {60, *range(80, 83), *range(90, 93)} | wrappers
    assert read.watchlist.ranks().keys() == {80, 81, 82}
    tree.end(82)
    assert 82 not in read()


def test_what_a_shell_started_beside_a_program_without_a_rank_is_not_read(tree: ProcTree) -> None:
    by_hand(tree, wrapped=False, shell=("bash", "all.sh"))
    read = Reader(tree)
    read.watchlist.attach(98)
    assert set(read()) == {60, 98}


@pytest.mark.parametrize(
    ("threads", "spawned", "expected"),
    [
        (("python", "pt_gloo_runloop"), True, True),
        (("python", "cuda-EvtHandlr", "pt_nccl_watchdg"), True, True),
        (("python", "pt_autograd_0"), True, False),
        (("python", "pt_gloo_runloop"), False, True),
        (("python", "pt_autograd_0"), False, False),
        ((), True, False),
    ],
)
def test_a_process_group_is_known_by_its_threads(
    tree: ProcTree, threads: tuple[str, ...], spawned: bool, expected: bool
) -> None:
    """Whoever started it: its own words for its rank may stand nowhere."""
    fork = [
        "python",
        "-c",
        "from multiprocessing.spawn import spawn_main",
        "--multiprocessing-fork",
    ]
    tree.process(80, children=[81])
    tree.process(81, parent=80, command=fork if spawned else ["python", "train.py"])
    for number, name in enumerate(threads):
        tree.write(f"proc/81/task/{81 + number}/comm", f"{name}\n")
    assert Reader(tree, 80)()[81].in_process_group is expected


def test_values(tree: ProcTree) -> None:
    torchrun(tree)
    rank = Reader(tree, 80)()[80]
    assert (rank.name, rank.user, rank.state, rank.parent_pid) == ("python", "alice", "S", 70)
    assert rank.namespace_pids == (80, 8)
    assert (rank.start_time_seconds, rank.cpu_seconds, rank.run_delay_seconds) == (50.0, 1.5, 2.5)
    assert rank.rss_bytes == 256 * os.sysconf("SC_PAGE_SIZE")
    assert (rank.read_bytes, rank.write_bytes, rank.major_faults) == (4096, 8192, 5)
    assert (rank.voluntary_switches, rank.involuntary_switches, rank.threads) == (7, 3, 4)
    assert rank.wait_channel == "futex_wait_queue"
    assert rank.allowed_cpus == 4  # eight in the mask, four of them online
    assert rank.cgroup == "/job"
    assert rank.environment == {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}
    assert "container" in rank.missing["container_id"]


def test_a_worker_does_not_repeat_its_environment_but_a_rank_does(tree: ProcTree) -> None:
    torchrun(tree)
    readings = Reader(tree, 80)()
    assert readings[90].environment_inherited
    assert readings[90].environment == {}
    assert not readings[81].environment_inherited
    assert readings[81].environment["RANK"] == "1"


def test_a_new_worker_is_seen_at_once_and_an_ended_one_goes(tree: ProcTree) -> None:
    torchrun(tree)
    read = Reader(tree, 80)
    assert 92 not in read()
    tree.process(92, parent=80)
    # It has run to start one, and so has gone to sleep once more.
    tree.process(80, parent=70, environment=RANK, children=[90, 91, 92], voluntary=8)
    assert 92 in read()
    tree.end(90)
    assert 90 not in read()
    tree.end(80)
    # Its workers are orphans whose stat still names it; they are not the job's any more.
    assert 80 not in read()


def test_a_pid_that_came_back_is_another_process(tree: ProcTree) -> None:
    tree.process(80, command=["python", "old.py"])
    read = Reader(tree, 80)
    assert read()[80].command == ("python", "old.py")
    tree.process(80, command=["python", "new.py"], start=9000, user_ticks=1)
    reading = read()[80]
    assert reading.start_time_seconds == 90.0
    assert reading.command == ("python", "new.py")


def test_a_strange_child_of_that_pid_is_not_taken_for_a_worker(tree: ProcTree) -> None:
    torchrun(tree)
    read = Reader(tree, 80)
    assert 91 in read()
    tree.process(91, parent=1, start=9000, name="database")
    tree.process(80, parent=70, environment=RANK, children=[90])
    assert 91 not in read()


def test_secrets_stay_here(tree: ProcTree) -> None:
    tree.process(80, command=["python", "t.py", "--hf-token", "abc"], environment={"HF_TOKEN": "x"})
    reading = Reader(tree, 80)()[80]
    assert reading.command == ("python", "t.py", "--hf-token", "***")
    assert reading.environment == {}


def test_zombie_keeps_what_was_known(tree: ProcTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "_PATIENCE_SECONDS", 0.0)  # all is read anew each time
    tree.process(80, environment=RANK)
    read = Reader(tree, 80)
    read()
    tree.process(80, state="Z", command=[])
    reading = read()[80]
    assert reading.state == "Z"
    assert reading.command == ("python", "train.py")


def test_zombie_and_kernel_thread_seen_first(tree: ProcTree) -> None:
    tree.process(80, state="Z", command=[])
    tree.process(81, command=[], flags=0x200000)
    readings = Reader(tree, 80, 81)()
    assert readings[80].missing["command"] == "the process has exited"
    assert readings[81].missing["command"] == "it is a thread of the kernel"


def test_what_could_hang_is_not_read_in_uninterruptible_sleep(tree: ProcTree) -> None:
    tree.process(80, state="D")
    read = Reader(tree, 80)
    reading = read()[80]
    assert reading.command is None
    assert "uninterruptible" in reading.missing["command"]
    assert reading.cpu_seconds == 1.5
    tree.process(80, state="S")
    assert read()[80].command == ("python", "train.py")


def test_odd_files_give_none_with_a_reason(tree: ProcTree) -> None:
    tree.process(80)
    for name in ("io", "schedstat", "wchan"):
        (tree.root / "proc/80" / name).unlink()
    reading = Reader(tree, 80)()[80]
    assert (reading.read_bytes, reading.run_delay_seconds, reading.wait_channel) == (None,) * 3
    assert reading.missing["read_bytes"] == reading.missing["run_delay_seconds"]


def test_without_lists_of_children_the_scan_finds_them(tree: ProcTree) -> None:
    torchrun(tree)
    for pid in (70, 80):
        (tree.root / f"proc/{pid}/task/{pid}/children").unlink()
    assert sorted(Reader(tree, 80)()) == [60, 70, 80, 81, 90, 91, 95]


def test_a_loop_of_parents_ends(tree: ProcTree) -> None:
    tree.process(80, parent=81, children=[81])
    tree.process(81, parent=80, children=[80])
    assert sorted(Reader(tree, 80)()) == [80, 81]


def test_many_workers_take_turns(tree: ProcTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "EVERY_TICK", 4)
    workers = range(100, 110)
    tree.process(80, children=workers)
    for pid in workers:
        tree.process(pid, parent=80)
    read = Reader(tree, 80)
    counts = [len(read()) for _ in range(4)]
    assert counts == [5, 9, 11, 11]
    before, after = read(), read()
    fresh = [pid for pid in workers if after[pid].monotonic_seconds > before[pid].monotonic_seconds]
    assert 1 <= len(fresh) <= 4
    assert after[80].monotonic_seconds > before[80].monotonic_seconds


def test_no_more_than_so_many_are_followed(tree: ProcTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "MOST", 6)
    tree.process(80, children=range(100, 120))
    for pid in range(100, 120):
        tree.process(pid, parent=80)
    assert len(Reader(tree, 80)()) == 7


def test_descriptors_are_bounded_and_given_back(tree: ProcTree) -> None:
    tree.process(80)
    budget = Descriptors(2)
    files = KeptFiles(tree.root / "proc/80", budget)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for name in ("stat", "io", "status", "wchan"):
        assert files.read(name) == files.read(name)
    assert len(os.listdir("/proc/self/fd")) == before + 2  # noqa: PTH208
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert budget.take()


def test_no_proc(tmp_path: Path) -> None:
    with pytest.raises(SourceAbsent):
        ProcessSource(Watchlist(), tmp_path).read()


def test_hidden_processes_are_reported_from_none(
    tree: ProcTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = "22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible\n"
    tree.write("proc/self/mountinfo", mount)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert Reader(tree)() == {}
    with pytest.raises(SourceDenied, match="hidepid"):
        Reader(tree, 80)()


def test_a_title_over_command_line_and_environment(tree: ProcTree) -> None:
    """As setproctitle leaves a worker of Ray's: what is gone is told as gone, what is left tells the job."""
    tree.process(70, name="raylet", command=["/opt/ray/raylet"], children=[80])
    tree.process(80, parent=70, name="ray::Train", command=["ray::Train.run"])
    tree.write("proc/80/cmdline", b"ray::Train.run" + b"\0" * 40)
    tree.write("proc/80/environ", b"\0" * 400)
    tree.link("proc/80/exe", "/opt/env/bin/python3.11")
    tree.link("proc/80/fd/1", f"/tmp/ray/logs/worker-{'ab' * 28}-01000000-80.out")
    worker = Reader(tree, 80)()[80]
    assert (worker.titled, worker.command, worker.ray_job) == (
        True,
        ("ray::Train.run",),
        "01000000",
    )
    assert worker.missing["environment"] == "a title was written over its environment"


@pytest.mark.parametrize(
    ("command", "program", "titled"),
    [
        (("ray::train", "train.py"), "/usr/bin/python3", True),
        (("ray::train",), "/usr/bin/python3.12 (deleted)", True),
        (("python", "train.py"), "/usr/bin/python3", False),
        (("./a.out",), "/home/a.out", False),
        (("./a.out",), None, False),
    ],
)
def test_a_title_is_what_the_program_is_not(
    tree: ProcTree, command: tuple[str, ...], program: str | None, titled: bool
) -> None:
    tree.process(80, command=command, environment={"RANK": "1"})
    if program is not None:
        tree.link("proc/80/exe", program)
    read = Reader(tree, 80)()[80]
    assert (read.titled, read.environment) == (titled, {"RANK": "1"})
