"""How the command of a process reads in the table."""

from __future__ import annotations

import pytest

from gputop.probes.model.process_frames import ProcessFrame
from gputop.tui.panels.process_table import command_of


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/usr/bin/python /venv/bin/torchrun t.py", "python torchrun t.py"),
        ("/bin/bash /dev/fd/3", "bash /dev/fd/3"),
        ("bash /home/ada/run.sh", "bash run.sh"),
    ],
)
def test_folders_are_left_out_where_they_are_only_folders(command: str, words: str) -> None:
    process = ProcessFrame(
        monotonic_seconds=1.0, pid=1, start_time_seconds=0.0, command=tuple(command.split())
    )
    assert command_of(process) == words
