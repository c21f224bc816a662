"""What runs inside a job runs on every Python that a job may have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gputop.probes.attach.preload import SHIM

ROOT = Path(__file__).parent.parent
OLDEST = "3.9"
IN_JOBS = ["__init__.py", "probes/__init__.py", "probes/inprocess"]
_PLACES = (
    "/usr/bin",
    "/usr/local/bin",
    f"{Path.home()}/.pyenv/versions/*/bin",
    "/opt/python/*/bin",
)
USE = """
import sys
import gputop
assert gputop.__version__
with gputop.phase("eval"):
    gputop.step(samples=1)
attached = gputop.attach()
assert attached, attached.reason
with gputop.phase("eval"):
    gputop.step(samples=1, tokens=2, loss=0.5)
print(sys.modules["gputop.probes.inprocess"].__file__)
"""


def test_every_line_that_runs_in_a_job_runs_on_the_oldest_python() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-c", "import vermin; vermin.main()"),
            *("--no-tips", "-vvv", f"--target={OLDEST}-"),
            *("--exclude", "typing.Self"),  # in annotations, which nothing evaluates
            *IN_JOBS,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def interpreters() -> list[Path]:
    """Every other Python that is found on this machine, one for each version."""
    found: dict[str, Path] = {}
    extra = [Path(each) for each in (os.environ.get("GPUTOP_PYTHON314"),) if each]
    for place in _PLACES:
        extra += sorted(Path("/").glob(f"{place[1:]}/python[23].[0-9]*"))
    for path in extra:
        name = path.resolve().name
        if name.replace("python", "").replace(".", "").isdigit() and os.access(path, os.X_OK):
            found.setdefault(name, path)
    return [found[name] for name in sorted(found)]


def is_old(python: Path) -> bool:
    major, minor = python.resolve().name.removeprefix("python").split(".")
    return (int(major), int(minor)) < (3, 9)


@pytest.mark.parametrize("python", [each for each in interpreters() if not is_old(each)], ids=str)
def test_the_probe_runs_on(python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(python), "-W", "error", "-c", USE],
        env={"PYTHONPATH": str(SHIM)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == f"{SHIM.parent}/__init__.py\n"


@pytest.mark.parametrize("python", [each for each in interpreters() if is_old(each)], ids=str)
def test_an_older_one_runs_on_without_it(python: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    done = subprocess.run(
        [str(python), "-c", "import sys; print('gputop_shim' in sys.modules)"],
        env={"PYTHONPATH": f"{SHIM}:{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("mine\nFalse\n", "")


def test_a_folder_of_that_name_is_not_taken_for_the_package(tmp_path: Path) -> None:
    (tmp_path / "gputop").mkdir()
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:0] = [{str(SHIM)!r}]\n"
            "import gputop_shim; gputop_shim.install()\n" + USE,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{SHIM.parent}/__init__.py\n", "")
