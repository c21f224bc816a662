"""What command lines run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputop.probes.jobs.command_line import (
    is_boundary,
    job_name,
    kind_of,
    local_rank_argument,
    python_of,
)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --lr 1", "train.py"),
        ("/opt/venv/bin/python3.11 -u /code/train.py x.py", "train.py"),
        ("python -X dev -W error -Xfaulthandler -Wd train.py", "train.py"),
        ("python -um pkg.train --x", "pkg.train"),
        ("python -mpkg.train", "pkg.train"),
        ("python --check-hash-based-pycs always t.py", "t.py"),
        ("python -- -odd.py", "-odd.py"),
        ("python -c code", "python -c"),
        ("python3", "python"),
        ("python -", "-"),
        ("python /venv/bin/axolotl train", "axolotl"),
        ("./bin/llm.c/train_gpt2cu -i x", "train_gpt2cu"),
        ("python-config x", "python-config"),
    ],
)
def test_job_name(command: str, name: str) -> None:
    assert job_name(tuple(command.split())) == name


def test_job_name_of_a_process_with_a_title() -> None:
    assert job_name(("ray::Trainer.step and more",)) == "ray::Trainer.step"
    assert job_name(()) == job_name(None) == ""


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("/venv/bin/python3 /venv/bin/torchrun --nproc-per-node 8 t.py", "launcher"),
        ("torchrun t.py", "launcher"),
        ("python -m torch.distributed.run t.py", "launcher"),
        ("python -u -m torch.distributed.launch t.py", "launcher"),
        ("python /x/site-packages/torch/distributed/run.py t.py", "launcher"),
        ("python /venv/bin/accelerate launch t.py", "launcher"),
        ("python /venv/bin/accelerate config", "program"),
        ("python -m accelerate.commands.launch t.py", "launcher"),
        ("python /venv/bin/deepspeed t.py", "launcher"),
        ("python -u -m deepspeed.launcher.launch t.py", "launcher"),
        ("mpirun -np 8 python t.py", "launcher"),
        ("/usr/bin/srun python t.py", "launcher"),
        ("orted -mca x", "launcher"),
        ("bash run.sh", "shell"),
        ("/bin/sh -c x", "shell"),
        ("bash -eu run.sh", "shell"),
        ("-bash", "prompt"),
        ("bash -i", "prompt"),
        ("zsh", "prompt"),
        ("bash /dev/fd/3", "prompt"),
        ("bash --rcfile /etc/rc -i", "prompt"),
        ("bash -o pipefail run.sh", "shell"),
        ("bash -lc x", "shell"),
        ("timeout 60 python t.py", "wrapper"),
        ("unshare --pid --fork python t.py", "wrapper"),
        ("uv run python t.py", "wrapper"),
        ("/opt/conda/bin/python /opt/conda/bin/conda run python t.py", "wrapper"),
        ("python train.py torchrun", "program"),
        ("python torchrun_helper.py", "program"),
    ],
)
def test_kind(command: str, kind: str) -> None:
    assert kind_of(tuple(command.split())) == kind


@pytest.mark.parametrize(
    ("command", "rank"),
    [
        ("t --local_rank=3", 3),
        ("t --local-rank 2", 2),
        ("t --local_rank", None),
        ("t", None),
        ("t --local_rank=x", None),
        ("t --local_rank=٣", None),
    ],
)
def test_local_rank(command: str, rank: int | None) -> None:
    assert local_rank_argument(tuple(command.split())) == rank


def test_boundaries() -> None:
    assert all(
        map(is_boundary, ("systemd", "sshd", "containerd-shim", "slurmstepd", "tmux: server"))
    )
    assert not any(map(is_boundary, ("bash", "python", "torchrun", "systemd-ish-trainer")))


@given(st.lists(st.text(max_size=8) | st.sampled_from(["python", "-m", "-c", "-X", "--", "-um"])))
def test_no_command_raises(words: list[str]) -> None:
    command = tuple(words)
    python_of(command)
    kind_of(command)
    assert isinstance(job_name(command), str)
    local_rank_argument(command)
