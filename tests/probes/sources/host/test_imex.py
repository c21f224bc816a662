"""IMEX as a node has it set up: its list, its daemon, its channels."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.probes.model.link_readings import ImexReading
from gputop.probes.sources.host.imex import ImexSource
from gputop.probes.sources.protocol import SourceAbsent

from fixtures.proc_tree import ProcTree

LIST = "# nodes of the domain\n10.0.0.1\n10.0.0.2  # second\n\n10.0.0.2\n10.0.0.3\n"
WHOLE_MACHINE = "pid:[4026531836]"


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    made = ProcTree(tmp_path)
    made.write("etc/nvidia-imex/nodes_config.cfg", LIST)
    runs(made, 1, "systemd")
    namespace(made, WHOLE_MACHINE)
    return made


def runs(tree: ProcTree, pid: int, name: str, state: str = "S") -> None:
    tree.process(pid, name=name, state=state)
    tree.write(f"proc/{pid}/comm", f"{name}\n")


def namespace(tree: ProcTree, link: str) -> None:
    folder = tree.root / "proc/self/ns"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pid").unlink(missing_ok=True)
    (folder / "pid").symlink_to(link)


def read(tree: ProcTree) -> ImexReading:
    (reading,) = ImexSource(tree.root).read()
    return reading


def test_a_domain_with_its_daemon(tree: ProcTree) -> None:
    runs(tree, 812, "nvidia-imex")
    for number in range(2):
        tree.write(f"dev/nvidia-caps-imex-channels/channel{number}", "")
    found = read(tree)
    assert (found.domain_nodes, found.daemon_runs, found.channels, found.missing) == (
        3,
        True,
        2,
        {},
    )


def test_a_daemon_that_ends_is_gone_at_the_next_look(tree: ProcTree) -> None:
    runs(tree, 812, "nvidia-imex")
    source = ImexSource(tree.root)
    assert source.read()[0].daemon_runs is True
    runs(tree, 812, "nvidia-imex", state="Z")
    assert source.read()[0].daemon_runs is False
    runs(tree, 900, "nvidia-imex")
    assert source.read()[0].daemon_runs is True


def test_its_control_program_is_no_daemon(tree: ProcTree) -> None:
    runs(tree, 812, "nvidia-imex-ctl")
    found = read(tree)
    assert (found.daemon_runs, found.channels) == (False, 0)


@pytest.mark.parametrize("hidden", ["container", "hidepid"])
def test_where_others_are_not_shown_nobody_knows(tree: ProcTree, hidden: str) -> None:
    if hidden == "container":
        namespace(tree, "pid:[4026532999]")
    else:
        (tree.root / "proc/1/comm").unlink()
    found = read(tree)
    assert found.daemon_runs is None
    assert found.missing == {"daemon_runs": "the processes of others are not shown here"}


def test_most_nodes_have_none(tmp_path: Path) -> None:
    with pytest.raises(SourceAbsent, match="not set up"):
        ImexSource(ProcTree(tmp_path).root).read()


@pytest.mark.parametrize("text", ["", "# nothing\n", "\xff\xfe\n" * 3])
def test_an_odd_list(tree: ProcTree, text: str) -> None:
    tree.write("etc/nvidia-imex/nodes_config.cfg", text.encode("latin-1"))
    assert read(tree).domain_nodes in (0, 1)
