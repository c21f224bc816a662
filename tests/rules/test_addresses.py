"""Which addresses lead to this very machine."""

from __future__ import annotations

import pytest

from gputop.rules.addresses import is_local


@pytest.mark.parametrize(
    ("name", "local"),
    [("127.0.0.1:80", True), ("[::1]:80", True), ("10.0.0.3:2049", False), ("", True)],
)
def test_addresses_of_this_machine(name: str, local: bool) -> None:
    assert is_local(name) is local
