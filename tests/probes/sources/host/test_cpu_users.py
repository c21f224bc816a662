"""Who keeps the cores busy, while no core is to spare."""

from __future__ import annotations

from pathlib import Path

from gputop.probes.sources.host.cpu_users import MOST, CpuUsers

from fixtures.proc_tree import ProcTree
from support.clock import Clock


def test_those_that_use_most_come_first_once_they_were_seen_twice(tmp_path: Path) -> None:
    tree, clock = ProcTree(tmp_path), Clock()
    users = CpuUsers(tmp_path, clock)
    for pid, ticks in ((71, 0), (72, 0), (73, 0)):
        tree.process(pid, name=f"spin {pid}", user_ticks=ticks)
    assert users.read(0.0, 0.0) is None  # nothing to compare with
    clock.now += 5
    assert users.read(10.0, 10.0) is None  # the first look
    for pid, ticks in ((71, 100), (72, 900), (73, 1), (74, 900)):
        tree.process(pid, name=f"spin {pid}", user_ticks=ticks)
    clock.now += 10
    found = users.read(29.0, 30.0)
    assert found is not None
    assert [(user.pid, user.name, user.cores) for user in found] == [
        (72, "spin 72", 0.9),
        (71, "spin 71", 0.1),
    ]


def test_a_node_with_idle_cores_is_not_looked_over(tmp_path: Path) -> None:
    tree, clock = ProcTree(tmp_path), Clock()
    users = CpuUsers(tmp_path, clock)
    for second in range(5):
        tree.process(71, user_ticks=900 * second)
        clock.now += 10
        assert users.read(8.0 * second, 10.0 * second) is None


def test_a_pid_that_came_back_is_another_process(tmp_path: Path) -> None:
    tree, clock = ProcTree(tmp_path), Clock()
    users = CpuUsers(tmp_path, clock)
    users.read(0.0, 0.0)
    tree.process(71, user_ticks=100)
    clock.now += 10
    users.read(10.0, 10.0)
    tree.process(71, user_ticks=900, start=9000)
    clock.now += 10
    assert users.read(20.0, 20.0) == ()


def test_no_more_are_kept_than_anybody_reads(tmp_path: Path) -> None:
    tree, clock = ProcTree(tmp_path), Clock()
    users = CpuUsers(tmp_path, clock)
    users.read(0.0, 0.0)
    for second in (1, 2):
        for pid in range(100, 100 + 3 * MOST):
            tree.process(pid, user_ticks=second * pid)
        clock.now += 10
        found = users.read(10.0 * second, 10.0 * second)
    assert found is not None and len(found) == MOST
    assert found[0].pid == 100 + 3 * MOST - 1


def test_what_is_no_process_or_unreadable_is_passed_over(tmp_path: Path) -> None:
    tree, clock = ProcTree(tmp_path), Clock()
    users = CpuUsers(tmp_path, clock)
    users.read(0.0, 0.0)
    for second in (1, 2):
        tree.process(71, user_ticks=900 * second)
        tree.write("proc/72/stat", b"\xff\x00 garbage")
        tree.write("proc/meminfo", "x")
        (tmp_path / "proc/73").mkdir(exist_ok=True)
        clock.now += 10
        found = users.read(10.0 * second, 10.0 * second)
    assert found is not None and [user.pid for user in found] == [71]
