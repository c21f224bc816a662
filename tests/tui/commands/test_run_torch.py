"""``gputop run``: through every launcher the probe gets into the ranks, and into nothing else."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.launched_jobs import command, job_folder, output_of
from support.torch_python import TORCH_PYTHON, needs_torch

pytestmark = [needs_torch, pytest.mark.slow]

RUN = [sys.executable, "-P", "-m", "gputop", "run", "--"]
INSTRUMENTS = {"loader", "forward", "backward", "optimizer"}
"""Without these a probe in a job tells nothing."""
TORCHRUN = ["torchrun", "--standalone", "--nproc-per-node", "2"]
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Open MPI refuses root, and more ranks than cores; other kinds of mpirun do not know these."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def job() -> Iterator[tuple[Path, dict[str, str]]]:
    with job_folder() as made:
        yield made


def reports(
    words: list[str], job: tuple[Path, dict[str, str]], **more: str
) -> list[dict[str, Any]]:
    """What the processes of a job said of themselves; the job must end well and leave no page."""
    folder, environment = job
    done = output_of([*RUN, *words], folder, {**environment, **more})
    assert done.returncode == 0, done.stderr
    assert list((folder / "gputop").glob("*")) == []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_torchrun_loads_it_into_both_ranks(job: tuple[Path, dict[str, str]]) -> None:
    words = [command(TORCHRUN[0]), *TORCHRUN[1:], "train.py", "--lr", "1"]
    reported = reports(words, job)
    assert sorted(each["rank"] for each in reported) == ["0", "1"]
    assert all(each["probe"] and each["argv"] == ["--lr", "1"] for each in reported)
    assert all(set(each["on"]) >= INSTRUMENTS for each in reported)


def test_the_launcher_gets_no_page(job: tuple[Path, dict[str, str]]) -> None:
    words = [command(TORCHRUN[0]), *TORCHRUN[1:], "--no-python", "ls", f"{job[0]}/gputop"]
    done = output_of([*RUN, *words], *job)
    assert "No such file" in done.stderr, "nothing has made the pages' directory"


def test_accelerate_launch(job: tuple[Path, dict[str, str]]) -> None:
    words = [
        # On CPUs, more than one process would need MPI.
        *(command("accelerate"), "launch", "--cpu", "--num_processes", "1", "--num_machines", "1"),
        *("--mixed_precision", "no", "--dynamo_backend", "no", "train.py"),
    ]
    (reported,) = reports(words, job)
    assert reported["probe"]


def test_deepspeed(job: tuple[Path, dict[str, str]]) -> None:
    words = [command("deepspeed"), "--num_gpus", "2", "train.py"]
    reported = reports(words, job, DS_ACCELERATOR="cpu", PATH=f"{Path(TORCH_PYTHON).parent}:/bin")
    assert sorted(each["rank"] for each in reported) == ["0", "1"]
    assert all(each["probe"] for each in reported)


def test_mpirun(job: tuple[Path, dict[str, str]]) -> None:
    words = [command("mpirun"), "-n", "2", TORCH_PYTHON, "train.py"]
    reported = reports(words, job, **OPEN_MPI)
    assert sorted(each["rank"] for each in reported) == ["0", "1"]
    assert all(each["probe"] for each in reported)


@pytest.mark.parametrize(
    "words",
    [
        [TORCH_PYTHON, "train.py"],
        [TORCH_PYTHON, "-m", "train"],
        ["bash", "-c", f"cd . && {TORCH_PYTHON} train.py"],
        ["env", "RANK=0", "WORLD_SIZE=1", TORCH_PYTHON, "train.py"],
    ],
)
def test_one_process(words: list[str], job: tuple[Path, dict[str, str]]) -> None:
    (reported,) = reports(words, job)
    assert set(reported["on"]) >= INSTRUMENTS
    assert not reported["shim_on_path"]


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("rank", [{}, {"RANK": "0", "WORLD_SIZE": "1"}])
def test_loaders_workers_are_no_ranks(
    context: str, rank: dict[str, str], job: tuple[Path, dict[str, str]]
) -> None:
    reported = reports([TORCH_PYTHON, "train.py"], job, WORKERS="1", CONTEXT=context, **rank)
    assert [each["probe"] for each in reported].count(True) == 1
    assert len(reported) == 2
    assert reported[-1]["probe"], "the main process ends last"


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_ranks_that_are_children_of_one_python(
    context: str, job: tuple[Path, dict[str, str]]
) -> None:
    (job[0] / "spawning.py").write_text(
        "import os, torch, train\n"
        "def rank(number):\n"
        "    os.environ.update(RANK=str(number), WORLD_SIZE='2')\n"
        "    train.main()\n"
        "if __name__ == '__main__':\n"
        f"    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='{free_port()}')\n"
        "    import torch.multiprocessing as mp\n"
        f"    mp.start_processes(rank, nprocs=2, start_method={context!r})\n"
        "    train.report()\n"
    )
    reported = reports([TORCH_PYTHON, "spawning.py"], job)
    assert [each["probe"] for each in reported] == [True, True, False]


@pytest.mark.parametrize(
    "code",
    ["import torch", "import sys", "import importlib.util as u; u.find_spec('torch')"],
)
def test_a_rank_s_helpers_get_no_page(code: str, job: tuple[Path, dict[str, str]]) -> None:
    (job[0] / "parent.py").write_text(
        "import os, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', sys.argv[1] + '; import os; print(os.listdir("
        'os.environ["XDG_RUNTIME_DIR"]))\'], check=True)\n'
    )
    folder, environment = job
    done = output_of(
        [*RUN, TORCH_PYTHON, "parent.py", code],
        folder,
        {**environment, "RANK": "0", "WORLD_SIZE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "gputop" not in done.stdout


def test_the_result_is_the_same_bit_for_bit(job: tuple[Path, dict[str, str]]) -> None:
    (job[0] / "loss.py").write_text(
        "import torch\n"
        "torch.manual_seed(1)\n"
        "model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))\n"
        "optimizer = torch.optim.AdamW(model.parameters())\n"
        "for _ in range(200):\n"
        "    loss = (model(torch.randn(16, 8)) - 1).square().mean()\n"
        "    optimizer.zero_grad(); loss.backward(); optimizer.step()\n"
        "print(loss.detach().numpy().tobytes().hex())\n"
    )
    plain = output_of([TORCH_PYTHON, "loss.py"], *job)
    probed = output_of([*RUN, TORCH_PYTHON, "loss.py"], *job)
    assert plain.stdout
    assert (plain.returncode, plain.stdout, plain.stderr) == (
        probed.returncode,
        probed.stdout,
        probed.stderr,
    )


def test_torch_keeps_its_loader_and_an_error_its_type(job: tuple[Path, dict[str, str]]) -> None:
    code = (
        "import torch, inspect; print(type(torch.__spec__.loader).__name__, vars(torch.__loader__))"
    )
    plain = output_of([TORCH_PYTHON, "-c", code], *job)
    probed = output_of([*RUN, TORCH_PYTHON, "-c", code], *job)
    assert plain.stdout == probed.stdout
    (job[0] / "torch.py").write_text("raise ValueError('broken')\n")
    broken = output_of([*RUN, TORCH_PYTHON, "-c", "import torch"], *job)
    assert broken.returncode == 1
    assert broken.stderr.endswith("ValueError: broken\n")
