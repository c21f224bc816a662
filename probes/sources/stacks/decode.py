"""What ``py-spy dump --json`` prints, parsed. Takes any bytes: the target's names are in them."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ...model.rank_readings import StackFrameReading, StackThreadReading
from ...model.stack_places import is_own, own_frame, place_of
from .program_source import SourceLine

MOST_THREADS = 256
MOST_FRAMES = 150
MOST_CHARS = 200
_MOST_NUMBER = 2**31
_CUT = "…"
_SCRIPT = "<module>"
_LOCKERS = ("torch/utils/file_baton.py", "filelock/", "portalocker/", "fasteners/")
"""Libraries that wait for lock files."""


class Local(msgspec.Struct):
    """A variable of a function."""

    name: str
    addr: int = 0
    repr: str | None = None


class _Frame(msgspec.Struct):
    name: str
    filename: str = ""
    short_filename: str | None = None
    line: int = 0
    locals: list[Local] | None = None


class _Thread(msgspec.Struct):
    frames: list[_Frame]
    thread_name: str | None = None
    os_thread_id: int | None = None
    owns_gil: bool = False


_decoder = msgspec.json.Decoder(list[_Thread])


def decode_dump(data: bytes, main_tid: int) -> tuple[StackThreadReading, ...] | None:
    """The threads; ``None`` where it is not what py-spy prints.

    Args:
        data: its output.
        main_tid: the process id as the target itself sees it. What py-spy says of who is active is
            left out: in a container's target it calls sleeping threads active.
    """
    try:
        threads = _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    found = tuple(_thread(thread, main_tid) for thread in threads[:MOST_THREADS])
    return found if any(thread.main for thread in found) else _with_main(found)


def own_lines(data: bytes, main_tid: int) -> tuple[SourceLine, ...]:
    """Where the functions of the main thread that are the user's own are in their sources, innermost first;
    and those of libraries that wait for lock files."""
    main = next((each for each in _threads(data) if _thread(each, main_tid).main), None)
    return tuple(
        SourceLine(frame.filename, frame.line)
        for frame in (main.frames if main else [])
        if frame.filename.startswith("/") and (is_own(_frame(frame)) or _locks(frame.filename))
    )


def locals_at(data: bytes, main_tid: int, path: str, lines: range) -> dict[str, Local]:
    """The variables of the main thread's innermost function that is in these lines of a source."""
    main = next((each for each in _threads(data) if _thread(each, main_tid).main), None)
    frames = main.frames if main else []
    found = next((each for each in frames if each.filename == path and each.line in lines), None)
    return {} if found is None else {each.name: each for each in found.locals or ()}


def _locks(file: str) -> bool:
    return any(f"/{name}" in file for name in _LOCKERS)


def lines_of_threads(data: bytes) -> dict[int, tuple[SourceLine, ...]]:
    """Where the functions of each thread are in their sources, innermost first, by its own number."""
    return {
        each.os_thread_id: tuple(SourceLine(frame.filename, frame.line) for frame in each.frames)
        for each in _threads(data)
        if each.os_thread_id is not None
    }


def _threads(data: bytes) -> list[_Thread]:
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return []


def _with_main(threads: tuple[StackThreadReading, ...]) -> tuple[StackThreadReading, ...]:
    """Where nothing has a name or number, as in Python 2: the one thread that runs a script."""
    scripts = [each for each in threads if each.frames and each.frames[-1].name == _SCRIPT]
    if len(scripts) != 1 or scripts[0].os_thread_id is not None:
        return threads
    return tuple(replace(each, main=True) if each is scripts[0] else each for each in threads)


def _thread(thread: _Thread, main_tid: int) -> StackThreadReading:
    # A program that never imports threading has no names; an old Python has no thread ids.
    named = thread.thread_name == "MainThread"
    frames = tuple(map(_frame, thread.frames[:MOST_FRAMES]))
    innermost = own_frame(frames) or (frames[0] if frames else None)
    return StackThreadReading(
        frames=frames,
        place=place_of(innermost) if innermost is not None else "",
        name=None if thread.thread_name is None else _text(thread.thread_name),
        os_thread_id=_number(thread.os_thread_id),
        main=named if thread.os_thread_id is None else thread.os_thread_id == main_tid,
        owns_gil=thread.owns_gil,
    )


def _frame(frame: _Frame) -> StackFrameReading:
    return StackFrameReading(
        name=_text(frame.name),
        file=_text(frame.short_filename or frame.filename),
        line=_number(frame.line),
    )


def _text(text: str) -> str:
    return text if len(text) <= MOST_CHARS else _CUT + text[1 - MOST_CHARS :]


def _number(value: int | None) -> int | None:
    return value if value is not None and 0 < value < _MOST_NUMBER else None
