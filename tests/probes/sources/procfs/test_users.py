"""Names of users never make anybody wait."""

from __future__ import annotations

import pwd
import threading
import time
from pathlib import Path

import pytest

from gputop.probes.sources.procfs.users import UserNames

from fixtures.proc_tree import ProcTree


def test_names_of_the_local_file(tmp_path: Path) -> None:
    names = UserNames(ProcTree(tmp_path).root)
    assert (names.name(0), names.name(1000), names.name(4242)) == ("root", "alice", "4242")


def test_no_or_odd_file(tmp_path: Path) -> None:
    assert UserNames(tmp_path).name(0) == "0"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_bytes(b"\xff:x:7\n::8\nbob:x:\xb2\nbob:x\n\n")
    assert UserNames(tmp_path).name(7) == "\ufffd"


def test_a_directory_service_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    def look_up(user_id: int) -> pwd.struct_passwd:
        let_go.wait(10)
        return pwd.struct_passwd(("carol", "x", user_id, user_id, "", "/", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwuid", look_up)
    names = UserNames(Path("/"))
    assert names.name(987654) == "987654"
    let_go.set()
    for _ in range(100):
        if names.name(987654) == "carol":
            return
        time.sleep(0.05)
    raise AssertionError
