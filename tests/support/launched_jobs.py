"""A training job started as anybody would start it, with any launcher, and run to its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.torch_python import TORCH_PYTHON

_TRAIN = Path(__file__).parents[1] / "jobs/launched.py"


@contextlib.contextmanager
def job_folder() -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with ``train.py`` on a tmpfs, and an environment whose pages go there."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        shutil.copyfile(_TRAIN, folder / "train.py")
        hidden = ("PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        yield folder, {**environment, "XDG_RUNTIME_DIR": name, "OMP_NUM_THREADS": "1"}


def command(name: str) -> str:
    """A program that lies beside the Python with torch, such as ``torchrun``."""
    path = Path(TORCH_PYTHON).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed beside GPUTOP_TORCH_PYTHON")
    return str(path)


def output_of(
    words: list[str], folder: Path, environment: Mapping[str, str], timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run to the end, in that folder."""
    return subprocess.run(
        words,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
