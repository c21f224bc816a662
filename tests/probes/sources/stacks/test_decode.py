"""What py-spy prints, whatever a target put into it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.sources.stacks.decode import MOST_CHARS, MOST_FRAMES, MOST_THREADS, decode_dump

FRAME: dict[str, Any] = {
    "name": "backward",
    "filename": "/env/lib/torch/_tensor.py",
    "module": None,
    "short_filename": "torch/_tensor.py",
    "line": 623,
    "locals": None,
    "is_entry": False,
    "is_shim_entry": False,
}
THREAD: dict[str, Any] = {
    "pid": 7,
    "thread_id": 140330904849280,
    "thread_name": "MainThread",
    "os_thread_id": 7,
    "active": True,
    "owns_gil": True,
    "frames": [FRAME],
    "process_info": None,
}


def dump(*threads: dict[str, Any]) -> bytes:
    return json.dumps(threads).encode()


def test_a_thread_with_its_frames() -> None:
    decoded = decode_dump(dump(THREAD), 7)
    assert decoded is not None
    (thread,) = decoded
    assert (thread.name, thread.os_thread_id, thread.main, thread.owns_gil) == (
        "MainThread",
        7,
        True,
        True,
    )
    assert thread.active is None  # py-spy's word on that is not taken
    (frame,) = thread.frames
    assert (frame.name, frame.file, frame.line) == ("backward", "torch/_tensor.py", 623)


def test_the_main_thread_is_known_by_its_number_or_else_its_name() -> None:
    worker = {**THREAD, "thread_name": "Thread-1", "os_thread_id": 8}
    nameless = {**THREAD, "thread_name": None}
    old = {**THREAD, "os_thread_id": None}
    decoded = decode_dump(dump(worker, nameless, old), 7)
    assert decoded is not None
    assert [thread.main for thread in decoded] == [False, True, True]


def test_monstrous_dumps_are_cut() -> None:
    huge = {**FRAME, "name": "x" * 10_000, "short_filename": None, "filename": "/y" * 5000}
    deep = {**THREAD, "frames": [huge] * (MOST_FRAMES + 5)}
    decoded = decode_dump(dump(deep, *[THREAD] * (MOST_THREADS + 3)), 7)
    assert decoded is not None
    assert len(decoded) == MOST_THREADS
    assert len(decoded[0].frames) == MOST_FRAMES
    assert len(decoded[0].frames[0].name) == MOST_CHARS
    assert decoded[0].frames[0].file.endswith("/y/y")


def test_numbers_out_of_range_are_unknown() -> None:
    frame = {**FRAME, "line": -1}
    decoded = decode_dump(dump({**THREAD, "os_thread_id": 1 << 70, "frames": [frame]}), 7)
    assert decoded is not None
    assert decoded[0].os_thread_id is None
    assert decoded[0].frames[0].line is None


def test_torn_texts_are_no_dump() -> None:
    whole = dump(THREAD)
    assert all(decode_dump(whole[:end], 7) is None for end in range(len(whole)))


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    decoded = decode_dump(data, 7)
    assert decoded is None or decoded == ()


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    (None, True, -1, 1 << 80, 1.5, "", "é", [], [[]], {}, {"name": []})
)
FRAMES = st.fixed_dictionaries(
    {"name": st.text() | VALUES}, optional={name: VALUES for name in FRAME if name != "name"}
)
THREADS = st.fixed_dictionaries(
    {"frames": st.lists(FRAMES, max_size=4) | VALUES},
    optional={name: VALUES for name in THREAD if name != "frames"},
)


@settings(max_examples=60)
@given(st.lists(THREADS, max_size=4))
def test_anything_in_the_place_of_a_value(threads: list[dict[str, Any]]) -> None:
    decoded = decode_dump(json.dumps(threads).encode(), 7)
    assert decoded is None or len(decoded) == len(threads)


def test_a_nest_as_deep_as_can_be() -> None:
    assert decode_dump(b'[{"frames":[],"x":' + b"[" * 100_000, 7) is None
