"""The pictures in the repository are what the program draws."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent / "screenshots"


def _make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("screenshots_make", FOLDER / "make.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["screenshots_make"] = module
    spec.loader.exec_module(module)
    return module


make = _make()


FIRST, *REST = make.PICTURES
"""The first reaches the lines that all of them do: coverage, which is slow, is measured in it alone."""


@pytest.mark.parametrize(
    "picture",
    [FIRST, *(pytest.param(picture, marks=pytest.mark.unmeasured) for picture in REST)],
    ids=lambda picture: picture.name,
)
def test_the_svg_is_what_is_drawn(picture: object) -> None:
    name = make.PICTURES[make.PICTURES.index(picture)].name
    drawn = asyncio.run(make.draw(picture))
    kept = (FOLDER / f"{name}.svg").read_text()
    assert drawn == kept, f"{name} has changed: look at it, then run python screenshots/make.py"


def test_there_is_no_picture_of_something_else() -> None:
    names = {picture.name for picture in make.PICTURES}
    assert {path.stem for path in FOLDER.glob("*.svg")} == names
    assert {path.stem for path in FOLDER.glob("*.png")} == names


def test_a_png_is_not_blank(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    try:
        make.to_png((FOLDER / "main-132x43.svg").read_text(), path)
    except (ImportError, OSError) as error:
        pytest.skip(f"the cairo library is not installed: {error}")
    # A picture of one color compresses to almost nothing.
    assert path.stat().st_size > 50_000
