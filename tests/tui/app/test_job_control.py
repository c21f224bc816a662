"""Signals and job control: whoever stops, ends or hangs up the program gets the terminal back as it was."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import closing

import psutil
import pytest

from nvml.simulated import SimulatedNvml
from support.terminal import Pty, Tmux, wait_until

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
SHELL = ["env", "PS1=prompt> ", "bash", "--norc", "-i"]
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def node() -> Iterator[SimulatedNvml]:
    with SimulatedNvml("h100x8") as simulated:
        yield simulated


@pytest.fixture
def watching(node: SimulatedNvml) -> Iterator[Pty]:
    with closing(Pty(GPUTOP, columns=132, lines=43, env=node.env())) as program:
        program.wait_for("Enter", 20)
        yield program


@pytest.fixture
def shell(node: SimulatedNvml) -> Iterator[Tmux]:
    """An interactive shell, with the program in the foreground."""
    env = {**node.env(), "LANG": "C.UTF-8"}
    with closing(Tmux(SHELL, columns=160, lines=45, env=env)) as terminal:
        terminal.wait_for("prompt>")
        terminal.type(f"{' '.join(GPUTOP)} --interval 0.2", "Enter")
        terminal.wait_for("q quit")
        yield terminal


def collector() -> psutil.Process:
    """The one that is below this test."""
    found = [
        process
        for process in psutil.Process().children(recursive=True)
        if process.name() == "gputop-collect"
    ]
    assert len(found) == 1
    return found[0]


def is_sane(program: Pty) -> bool:
    """Whether what is typed is echoed, and signals have their keys."""
    wanted = termios.ECHO | termios.ICANON | termios.ISIG
    local: int = program.modes()[3]
    return local & wanted == wanted


def left_screen(program: Pty) -> bool:
    return program.output.rfind(b"\x1b[?1049l") > program.output.rfind(b"\x1b[?1049h")


def drawn_times(program: Pty) -> int:
    """How often it has taken the terminal and drawn all of the screen on it."""
    return sum(b"Enter" in drawn for drawn in bytes(program.output).split(b"\x1b[?1049h")[1:])


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_it_with_the_terminal_as_it_was(watching: Pty, number: int) -> None:
    child = collector()
    assert not is_sane(watching)
    watching.process.send_signal(number)
    assert watching.process.wait(5) == 128 + number
    wait_until(lambda: left_screen(watching), 5, "the alternate screen is left")
    assert is_sane(watching)
    wait_until(lambda: not child.is_running(), 5, "the collector ends too")


def test_a_terminal_that_goes_away_ends_it(watching: Pty) -> None:
    child = collector()
    watching.hang_up()
    assert watching.process.wait(5) == 128 + signal.SIGHUP
    wait_until(lambda: not child.is_running(), 5, "the collector ends too")


def test_where_nobody_could_continue_it_ctrl_z_does_not_stop_it(watching: Pty) -> None:
    """Its group has no shell above it, as under ``docker run`` or as tmux's own command."""
    watching.type("\x1a")
    wait_until(lambda: drawn_times(watching) == 2, 5, "it draws again")
    watching.type("q")
    assert watching.process.wait(5) == 0
    assert is_sane(watching)


def test_stopped_and_continued_by_others_it_starts_no_second_time(watching: Pty) -> None:
    threads = psutil.Process(watching.process.pid).num_threads()
    for times in (2, 3, 4):
        watching.process.send_signal(signal.SIGSTOP)
        watching.process.send_signal(signal.SIGCONT)
        wait_until(lambda: drawn_times(watching) == times, 5, "it draws again")  # noqa: B023
    assert psutil.Process(watching.process.pid).num_threads() <= threads
    watching.type("q")
    assert watching.process.wait(5) == 0
    assert is_sane(watching)


@needs_tmux
def test_ctrl_z_gives_the_shell_back_and_fg_goes_on(node: SimulatedNvml, shell: Tmux) -> None:
    for size in ((100, 30), (160, 45)):
        shell.type("C-z")
        screen = shell.wait_for("Stopped")
        assert "H100" not in screen
        shell.type("echo typed$((40 + 2))", "Enter")
        shell.wait_for("typed42")
        assert collector_of_shell(shell).status() not in ("stopped", "zombie")
        shell.resize(*size)
        node.set({"gpu.5.power": size[0] + 200})
        shell.type("clear", "Enter", "fg", "Enter")
        screen = shell.wait_for(f" {size[0] + 200}/700" if size[0] > 120 else f" {size[0] + 200} ")
        assert "prompt>" not in screen
        assert screen.splitlines()[size[1] - 1].lstrip().startswith("Enter detail")
    shell.type("q")
    shell.wait_for("prompt>")


@needs_tmux
def test_in_the_background_it_keeps_off_the_terminal_and_can_be_ended(shell: Tmux) -> None:
    child = collector_of_shell(shell)
    shell.type("C-z")
    shell.wait_for("Stopped")
    shell.type("clear; bg; sleep 1; jobs", "Enter")
    screen = shell.wait_for("Stopped")
    assert "H100" not in screen
    shell.type("clear; kill %1; sleep 1; jobs", "Enter")
    shell.wait_for("Terminated")
    wait_until(lambda: not child.is_running(), 5, "the collector ends too")


def collector_of_shell(shell: Tmux) -> psutil.Process:
    """tmux is no child of the test."""
    below = psutil.Process(shell.pid()).children(recursive=True)
    found = [process for process in below if process.name() == "gputop-collect"]
    assert len(found) == 1
    assert os.getsid(found[0].pid) == found[0].pid
    return found[0]
