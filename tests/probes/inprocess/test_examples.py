"""The short scripts that the README names: each is run for real, and its phases are found."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from support.torch_job import EXAMPLES, explain, run
from support.torch_python import needs_torch, torch_python_has

pytestmark = [needs_torch, pytest.mark.slow]


class Example(NamedTuple):
    """A script, and how many steps each of its ranks takes."""

    script: str
    steps: int
    ranks: int = 1
    preload: tuple[str, ...] = ()


RUN = [
    Example("bare", 16),
    Example("ddp", 8, ranks=2),
    Example("fsdp2", 8, ranks=2),
    Example("with_accelerate", 16, preload=("accelerate",)),
    Example("with_lightning", 16, preload=("lightning",)),
    Example("hf_trainer", 8, preload=("transformers.trainer",)),
    Example("with_deepspeed", 8, ranks=2, preload=("deepspeed",)),
]


@pytest.mark.parametrize("example", RUN, ids=lambda example: example.script)
def test_the_phases_of_an_example_are_found(example: Example) -> None:
    missing = [each for each in example.preload if not torch_python_has(each.partition(".")[0])]
    if missing:
        pytest.skip(f"the Python with torch has no {missing[0]}")
    done = run(EXAMPLES / f"{example.script}.py", ranks=example.ranks, preload=example.preload)
    assert done.status == 0, explain(done)
    assert len(done.pages) == example.ranks
    for page in done.pages:
        assert page.newest.number == example.steps
        assert page.totals().keys() >= {"data", "forward", "backward", "optimizer"}
        assert "trouble" not in page.facts


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {each.script for each in RUN}
