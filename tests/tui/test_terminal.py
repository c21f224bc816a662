"""The program in a real terminal: what is drawn in pieces is what is drawn whole, and it always ends well."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import pytest

from terminal import Pty, Tmux, wait_until

GPUTOP = [sys.executable, "-P", "-m", "gputop"]
ENV = {
    **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
BROKEN = """
import sys
from gputop.rules.finding import Judgement
from gputop.probes.frame import Frame
from gputop.tui.app import GputopApp
from gputop.tui.screens.main_screen import MainScreen

class Watch:
    history, simulated, title, stuck, past_samples = None, True, "broken", "", 0
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
        terminal.wait_for("Marks")
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
