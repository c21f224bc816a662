"""What is installed: one name, every module, and nothing loaded that is not needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from gputop.probes.attach.preload import SHIM

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_list_of_packages_is_the_tree() -> None:
    folders = {
        "gputop",
        *(
            ".".join(("gputop", *init.parent.relative_to(ROOT).parts))
            for top in ("probes", "rules", "tui")
            for init in (ROOT / top).rglob("__init__.py")
        ),
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == folders


def test_every_folder_with_code_is_a_package() -> None:
    for top in ("probes", "rules", "tui"):
        for module in (ROOT / top).rglob("*.py"):
            if module.parent == SHIM:
                continue  # on the jobs' PYTHONPATH, never imported as part of gputop
            assert (module.parent / "__init__.py").exists(), module


@pytest.mark.slow
def test_the_wheel_holds_exactly_one_name(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"gputop"}
    assert "gputop/py.typed" in names
    assert {name.split("/")[-1] for name in names if "/shim/" in name} == {
        "gputop_shim.py",
        "sitecustomize.py",
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    ("statement", "never"),
    [
        ("import gputop", {"textual", "rich", "pynvml", "psutil", "msgspec", "torch"}),
        (
            "import gputop.probes.collector.main",
            {"textual", "rich", "pynvml", "psutil", "torch", "asyncio"},
        ),
        (
            "import gputop.tui.commands.live, gputop.rules.catalogue",
            {"textual", "pynvml", "psutil", "torch"},
        ),
        ("import gputop.tui.commands.once", {"textual", "pynvml", "psutil", "torch"}),
        ("import gputop.tui.commands.job_choice", {"textual", "pynvml", "psutil", "torch"}),
        ("import gputop.tui.app.app", {"pynvml", "psutil", "torch"}),
    ],
)
def test_what_a_part_does_not_load(statement: str, never: set[str]) -> None:
    assert loaded_by(statement) & never == set()


@pytest.mark.parametrize("folder", ["console", "drawing", "panels", "reports", "session"])
def test_what_needs_no_screen_loads_nothing_of_one(folder: str) -> None:
    """A static look at imports cannot see those that are made inside functions at import time."""
    modules = sorted(
        f"gputop.tui.{folder}.{file.stem}" for file in (ROOT / "tui" / folder).glob("[a-z]*.py")
    )
    assert modules
    assert (
        loaded_by(f"import {', '.join(modules)}") & {"textual", "pynvml", "torch", "psutil"}
        == set()
    )


def test_the_collector_does_not_load_the_simulator() -> None:
    script = "import gputop.probes.collector.main, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True
    )
    assert "gputop.probes.simulator" not in done.stdout.split()


def test_layers_point_down() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_typing_links_are_relative_and_whole() -> None:
    for link in (ROOT / ".typing" / "gputop").iterdir():
        assert link.is_symlink()
        assert not link.readlink().is_absolute()
        assert link.resolve() == ROOT / link.name
