"""A notebook and a prompt: training in cells, and the time in which nothing is asked of it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.probe_job import reading_of
from support.terminal import wait_until
from support.torch_python import TORCH_PYTHON, torch_python_has

PACKAGE = Path(__file__).parents[3]
NOTEBOOK = Path(__file__).parents[2] / "jobs/notebook.py"
ATTACH = "import gputop; assert gputop.attach(); assert gputop.attach()"
IDLE_SECONDS = 2.5

LOOP = """
import time
for _ in range({steps}):
    with gputop.phase("forward"):
        time.sleep(0.01)
    gputop.step(samples=4)
"""
TORCH_LOOP = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (inputs,) in torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(20, 4)), batch_size=1
):
    model(inputs).sum().backward()
    optimizer.step()
"""


@contextmanager
def surroundings() -> Iterator[dict[str, str]]:
    """An environment in which ``import gputop`` works and pages go to a folder of its own."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        (Path(folder) / "path").mkdir()
        (Path(folder) / "path/gputop").symlink_to(PACKAGE)
        path = f"{folder}/path"
        yield {
            **os.environ,
            "XDG_RUNTIME_DIR": folder,
            "PYTHONPATH": path,
            "IPYTHONDIR": folder,
            "OMP_NUM_THREADS": "1",
        }


class Notebook:
    """A kernel, and the client that runs cells in it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = 0

    def run(self, cell: str) -> str | None:
        """To its end. Returns the name of its error."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin and stdout
        stdin.write(json.dumps(cell) + "\n")
        stdin.flush()
        line = stdout.readline()
        assert line, "the client has ended"
        self.pid, error = json.loads(line)
        return str(error) if error else None


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    if not torch_python_has("ipykernel"):
        pytest.skip("GPUTOP_TORCH_PYTHON names no Python that has torch and ipykernel")
    with surroundings() as environment:
        process = subprocess.Popen(
            [TORCH_PYTHON, str(NOTEBOOK)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            yield Notebook(process)
        finally:
            assert process.stdin and process.stdout
            process.stdin.close()
            process.wait(60)
            process.stdout.close()


@pytest.mark.slow
def test_a_kernel_is_idle_between_cells_and_its_steps_leave_that_out(notebook: Notebook) -> None:
    assert notebook.run(ATTACH) is None
    assert notebook.run(TORCH_LOOP) is None
    after = reading_of(notebook.pid)
    assert (after.phase, after.step) == ("idle", 20)
    assert after.instruments["cells"] == "on"
    time.sleep(IDLE_SECONDS)
    assert notebook.run(ATTACH + "\n" + TORCH_LOOP) is None
    again = reading_of(notebook.pid)
    assert (again.phase, again.step) == ("idle", 40)
    assert max(step.seconds for step in again.steps if step.number > 20) < IDLE_SECONDS
    spent = again.phase_seconds or {}
    assert spent["idle"] > IDLE_SECONDS
    assert min(spent[name] for name in ("data", "forward", "backward", "optimizer")) > 0


@pytest.mark.slow
def test_a_cell_that_raises_in_the_middle_of_a_step_leaves_nothing_open(notebook: Notebook) -> None:
    notebook.run(ATTACH)
    broken = TORCH_LOOP.replace("    optimizer.step()", "    optimizer.step(lambda: 1 / 0)")
    assert notebook.run(broken) == "ZeroDivisionError"
    assert reading_of(notebook.pid).phase == "idle"
    assert notebook.run(TORCH_LOOP) is None
    assert (reading_of(notebook.pid).phase, reading_of(notebook.pid).step) == ("idle", 20)


class Prompt:
    """Python at a terminal."""

    def __init__(self, pid: int, terminal: int) -> None:
        self.pid = pid
        self._terminal = terminal

    def type(self, code: str) -> None:
        """As one line."""
        os.write(self._terminal, f"exec({code!r})\n".encode())


@pytest.fixture
def prompt() -> Iterator[Prompt]:
    with surroundings() as environment:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-q"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        try:
            yield Prompt(process.pid, ours)
        finally:
            process.kill()
            process.wait()
            os.close(ours)


def test_a_prompt_is_idle_while_nobody_types(prompt: Prompt) -> None:
    def phase_and_step() -> tuple[str | None, int | None]:
        try:
            reading = reading_of(prompt.pid)
        except AssertionError:
            return None, None
        return reading.phase, reading.step

    prompt.type(ATTACH + LOOP.format(steps=50))
    wait_until(lambda: phase_and_step() == ("idle", 50), 20, "idle after 50 steps")
    time.sleep(IDLE_SECONDS)
    prompt.type("import gputop, time" + LOOP.format(steps=300))
    wait_until(lambda: phase_and_step()[0] == "forward", 20, "at work again")
    wait_until(lambda: phase_and_step() == ("idle", 350), 20, "idle once more")
    reading = reading_of(prompt.pid)
    assert max(step.seconds for step in reading.steps) < IDLE_SECONDS
