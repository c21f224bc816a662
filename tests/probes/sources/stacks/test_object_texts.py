"""Texts in the objects of another process; and memory in which there are none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.sources.stacks.object_texts import ObjectTexts


class Holder:
    """With attributes, as most objects have them."""

    def __init__(self) -> None:
        self.number = 3
        self.lock_file = "/data/holder-of-a-lock"


def texts_of(thing: object) -> list[str]:
    """In this very process."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        return ObjectTexts(memory).of(id(thing))
    finally:
        os.close(memory)


def test_a_text_a_path_and_an_attribute() -> None:
    assert texts_of("/data/x.lock") == ["/data/x.lock"]
    path = Path("/data/y.lock")
    assert not path.exists()  # its text is made when it is used first
    assert "/data/y.lock" in texts_of(path)
    assert "/data/holder-of-a-lock" in texts_of(Holder())


def test_a_number_holds_no_path() -> None:
    assert not [each for each in texts_of(12345678901234567890) if each.startswith("/data")]


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=1, max_size=512), st.integers(min_value=0, max_value=2**64 - 1))
def test_any_memory(data: bytes, address: int) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"\0" * 70_000 + data)
        file.flush()
        ObjectTexts(file.fileno()).of(address)
        ObjectTexts(file.fileno()).of(70_000)
