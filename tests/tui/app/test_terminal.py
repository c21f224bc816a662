"""The program in a real terminal: what is drawn in pieces is what is drawn whole, and it always ends well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest

from nvml.simulated import SimulatedNvml
from support.terminal import Pty, Tmux, wait_until

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
ENV = {
    **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
BROKEN = """
import sys
from gputop.rules.finding import Judgement
from gputop.probes.model.frame import Frame
from gputop.tui.app.app import GputopApp
from gputop.tui.screens.main_screen import MainScreen

class Watch:
    history, simulated, title, stuck, past_samples = None, True, "broken", "", 0
    asked_pid = None
    def start(self, on_judgement, on_end, on_notice):
        if "{when}" == "start": raise ValueError("no luck")
        frame = Frame(time_seconds=0.0, monotonic_seconds=1.0, node="node", gpus=(None,))
        on_judgement(Judgement(frame=frame))

app = GputopApp(Watch())
app.run()
sys.exit(app.return_code)
"""


@contextmanager
def tmux(command: Sequence[str], columns: int = 100, lines: int = 40) -> Iterator[Tmux]:
    with closing(Tmux(command, columns=columns, lines=lines, env=ENV)) as terminal:
        yield terminal


def test_pieces_add_up_to_the_whole_picture() -> None:
    with tmux([*GPUTOP, "demo", "straggler", "--interval", "0.2"]) as terminal:
        terminal.wait_for("Where the last 60 s went")
        before = terminal.screen()
        wait_until(lambda: terminal.screen() != before, 10, "new values")
        terminal.type("Space")
        terminal.wait_for("live again" if "PAUSED" in before else "PAUSED")
        wait_until(lambda: "Enter detail" in terminal.screen(), 10, "the notice goes")
        pieces = _body(terminal.screen())
        terminal.type("?")
        terminal.wait_for("Keys")
        terminal.type("Escape")
        terminal.wait_for("── GPUs")
        wait_until(lambda: _body(terminal.screen()) == pieces, 10, "the same picture, drawn whole")
        terminal.type("q")
        assert "gputop" not in terminal.wait_for("exit code 0")


def _body(screen: str) -> list[str]:
    """All but the first line, which tells for how long it has been paused."""
    return screen.splitlines()[1:]


def test_growing_and_shrinking() -> None:
    with tmux([*GPUTOP, "demo", "gpu-lost"], 80, 24) as terminal:
        terminal.wait_for("GPU is lost")
        terminal.resize(200, 50)
        terminal.wait_for("── Processes")
        terminal.resize(20, 5)
        terminal.wait_for("60x8")
        terminal.resize(60, 16)
        terminal.wait_for("GPU is lost")
        terminal.type("q")
        terminal.wait_for("exit code 0")


def on_gpu(node: SimulatedNvml, *more: str) -> Tmux:
    """The program watching a simulated driver."""
    env = {**node.env(), **ENV}
    return Tmux([*GPUTOP, "--interval", "0.2", *more], columns=132, lines=43, env=env)


def test_a_real_process_is_signalled_after_asking() -> None:
    with (
        SimulatedNvml("h100x8") as node,
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as victim,
        closing(on_gpu(node)) as terminal,
    ):
        node.process(2, 1, victim.pid, memory="8GiB", type="compute")
        pid = str(victim.pid)
        terminal.wait_for(pid)
        terminal.type("4")
        terminal.wait_for("Processes")
        terminal.type("/")
        terminal.wait_for("Enter keeps")
        terminal.type("sleep", "Enter")
        terminal.wait_for("matching 'sleep'")
        terminal.type("x")
        terminal.wait_for("select a process first")
        terminal.type("j")
        terminal.wait_for(f"── pid {pid}")
        terminal.type("k", "x")
        terminal.wait_for(f"signal pid {pid}")
        terminal.type("n")
        terminal.wait_for("nothing was sent")
        assert victim.poll() is None
        terminal.type("x")
        terminal.wait_for(f"signal pid {pid}")
        terminal.type("t")
        assert victim.wait(10) == -signal.SIGTERM
        terminal.wait_for("TERM was sent to pid")
        terminal.type("q")
        terminal.wait_for("exit code 0")


def test_a_gpu_that_is_lost_and_found_while_watching() -> None:
    with SimulatedNvml("h100x8") as node, closing(on_gpu(node)) as terminal:
        terminal.wait_for("✓ nothing found")
        node.lose(5)
        terminal.wait_for("5 ✖ GPU is lost")
        screen = terminal.wait_for("HW208")
        assert "✓" not in screen
        node.find(5)
        wait_until(lambda: "GPU is lost" not in terminal.screen(), 15, "it is back")
        terminal.type("q")
        terminal.wait_for("exit code 0")


@pytest.mark.parametrize(
    "state",
    [
        {"gpu.count": 16},
        {"gpu.*.utilization.gpu": 200, "gpu.*.memory.used": "200GiB"},
        {"gpu.*.temperature.gpu": 100000, "gpu.*.power": 4000000, "gpu.*.clock.sm": 999999},
    ],
    ids=["sixteen", "too much", "absurd"],
)
def test_absurd_nodes_are_drawn(state: dict[str, int | str]) -> None:
    with SimulatedNvml("h100x8", dict(state)) as node, closing(on_gpu(node)) as terminal:
        terminal.wait_for("── Findings")
        for keys in ("j", "Enter", "Escape", "4", "6", "?"):
            terminal.type(keys)
        terminal.wait_for("Keys")
        terminal.type("q")
        terminal.wait_for("exit code 0")


def test_ctrl_c_ends_it_as_interrupted() -> None:
    with tmux([*GPUTOP, "demo", "healthy"]) as terminal:
        terminal.wait_for("── GPUs")
        terminal.type("C-c")
        terminal.wait_for("exit code 130")


@pytest.mark.parametrize("when", ["start", "draw"])
def test_a_fault_of_ours_is_one_sentence(when: str) -> None:
    with tmux([sys.executable, "-P", "-c", BROKEN.replace("{when}", when)]) as terminal:
        screen = terminal.wait_for("exit code 2")
    assert "gputop: internal error: " in screen
    assert "Traceback" not in screen and "│" not in screen


def test_a_terminal_without_a_size_is_taken_for_80x24() -> None:
    with closing(Pty([*GPUTOP, "demo", "healthy"], columns=0, lines=0, env=ENV)) as program:
        program.wait_for("Enter", 20)
        program.type("q")
        wait_until(lambda: program.process.poll() is not None, 10, "it ends")
        assert program.process.returncode == 0
        assert b"\x1b[24;1H" in program.output and b"\x1b[25;1H" not in program.output


def test_without_utf8_everything_sent_is_ascii() -> None:
    env = {**ENV, "LANG": "C"}
    with closing(Pty([*GPUTOP, "demo", "gpu-lost"], columns=132, lines=43, env=env)) as program:
        program.wait_for("GPU is lost", 20)
        program.wait_for("Enter", 20)
        program.type("q")
        wait_until(lambda: program.process.poll() is not None, 10, "it ends")
        assert bytes(program.output).isascii()
