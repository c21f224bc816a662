"""What the stack of a rank says beyond its phase: places whose name tells for whom or what it waits.

A library's function is a witness. A word in the user's own function is a weak one: it may make a
verdict milder, and outranks no kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from ...probes.model.frame import Frame
from ...probes.model.job_frames import RankFrame
from ...probes.model.rank_readings import BusyLoop, Stack, StackFrameReading, StackReading
from ..progress import is_overdue
from .other_threads import is_left_alone, is_scheduled, is_without_gil

_RENDEZVOUS = (
    ("torch/distributed/rendezvous.py", ""),
    ("torch/distributed/distributed_c10d.py", "init_process_group"),
    ("torch/distributed/distributed_c10d.py", "new_group"),
    ("torch/distributed/distributed_c10d.py", "_new_group_with_tag"),
    ("torch/distributed/distributed_c10d.py", "_store_based_barrier"),
    ("torch/distributed/elastic/", ""),
)
_ORDERLY = (
    ("torch/distributed/distributed_c10d.py", "barrier"),
    ("torch/distributed/distributed_c10d.py", "monitored_barrier"),
    ("", "main_process_first"),
    ("", "local_main_process_first"),
    ("", "wait_for_everyone"),
    ("", "torch_distributed_zero_first"),
    ("", "rank_zero_first"),
)
"""There others wait while one rank does what is done once."""
_LOCK_FILES = (
    ("filelock/", ""),
    ("torch/utils/file_baton.py", "wait"),
    ("torch/utils/_filelock.py", ""),
    ("portalocker/", ""),
    ("fasteners/", ""),
)
_PROMPTS = (
    ("code.py", "interact"),
    ("pdb.py", ""),
    ("bdb.py", ""),
    ("cmd.py", "cmdloop"),
    ("IPython/terminal/", ""),
)
_GIVEN_WORK = (
    *_PROMPTS,
    ("", "serve_forever"),
    ("asyncio/base_events.py", "run_forever"),
    ("asyncio/base_events.py", "_run_once"),
    ("IPython/", ""),
    ("ipykernel/", ""),
    ("ray/_private/worker.py", "main_loop"),
    ("vllm/v1/engine/core.py", "_process_input_queue"),
    ("sglang/srt/managers/scheduler.py", "recv_requests"),
)
_EXITS = (
    ("threading.py", "_shutdown"),
    ("weakref.py", "_exitfunc"),
    ("multiprocessing/util.py", "_exit_function"),
    ("concurrent/futures/thread.py", "_python_exit"),
    ("concurrent/futures/process.py", "_python_exit"),
)
_QUEUE = (("queue.py", "get"), ("multiprocessing/queues.py", "get"))
_SERVES = (*_GIVEN_WORK, ("socket.py", "accept"), ("grpc/_server.py", ""))
_FOR_A_THREAD = (("threading.py", "join"), ("threading.py", "wait"))
_AWAITS_TASK = (
    ("multiprocessing/connection.py", "recv"),
    ("multiprocessing/connection.py", "recv_bytes"),
)
_DOWNLOADS = (
    *(("http/client.py", name) for name in ("read", "read1", "readinto", "_safe_read")),
    *(
        ("http/client.py", name)
        for name in ("_safe_readinto", "_read_chunked", "_readinto_chunked")
    ),
    ("urllib3/response.py", ""),
)
"""There the body of an answer is read that has begun to come. Its head may be long in coming: a worker
that asks for work is answered when there is some."""
_LONG_WORDS = (
    r"(?i:evaluat|validat|(?:^|_)eval(?:_|$)|save|checkpoint|preprocess|download|tokeniz|rollout|generat"
    r"|compil|dataset|export|upload)"
)

Places = tuple[tuple[str, str], ...]


class Witness(msgspec.Struct, frozen=True):
    """What the stack of a rank tells."""

    rendezvous: bool = False
    orderly: bool = False
    lock_file: bool = False
    given_work: bool = False
    finished: bool = False
    queue: bool = False
    served: bool = False
    """Another thread of it takes requests: whoever waits for its end waits for ever, and well."""
    awaits_task: bool = False
    """It reads what another process is to send it: a worker its next task."""
    downloads: bool = False
    prompt: bool = False
    """Somebody is to type something: a prompt, a debugger."""
    scheduled: bool = False
    """Whoever could let its main thread go on sleeps for a time of its own."""
    left_alone: bool = False
    """No other Python thread is there that could let its main thread go on."""
    without_gil: bool = False
    """A thread that sleeps keeps the interpreter from it."""
    busy_loop: bool = False
    """It runs in a loop that only looks, or changes nothing but its own variables, for as long as it has run."""
    long_word: str = ""
    """The user's own function whose name is that of long work."""
    awaits_file: bool = False
    """It looks again and again until a file is there, which somebody else is to make."""
    looked: bool = False
    """A stack has been taken since its last step ended: what it says, or does not say, counts."""
    refused: bool = False
    """No stack of it can be had here, and none will; one that did not succeed may the next time."""


NOTHING = Witness()


def witness_of(rank: RankFrame, frame: Frame) -> Witness:
    """Of the newest stack that still says where the rank is; of an older one of the same long step no more
    than the name of what it does; nothing where there is none."""
    reading = frame.stacks_of(rank)
    if reading is None or not reading.main_stacks:
        failed = reading is not None and bool(reading.failure)
        return Witness(refused=True) if "stack" in rank.missing and not failed else NOTHING
    found = replace(
        _read(reading.main_stacks[-1]),
        busy_loop=loop_of(rank, frame) is not None,
        scheduled=is_scheduled(reading),
        served=_is_served(reading),
    )
    if rank.phase_dumps is not None:
        loop = reading.file_loop
        return replace(
            found,
            lock_file=found.lock_file or (loop is not None and loop.until != "there"),
            awaits_file=loop is not None and loop.until == "there",
            left_alone=is_left_alone(rank, frame),
            without_gil=is_without_gil(rank, frame),
        )
    if _stands_there(rank, reading):
        return found
    age = frame.monotonic_seconds - reading.monotonic_seconds
    if not is_overdue(rank) or age > (rank.step_age_seconds or 0.0):
        return Witness(busy_loop=found.busy_loop)
    return Witness(long_word=found.long_word, busy_loop=found.busy_loop, looked=True)


def _stands_there(rank: RankFrame, reading: StackReading) -> bool:
    """It has not woken up since that stack was taken."""
    since = rank.activity.still_since_seconds if rank.activity else None
    return since is not None and since <= reading.monotonic_seconds


def _is_served(reading: StackReading) -> bool:
    if not _any(_FOR_A_THREAD, reading.main_stacks[-1][:3]):
        return False
    return any(_any(_SERVES, each.frames) for each in reading.threads if not each.main)


def loop_of(rank: RankFrame, frame: Frame) -> BusyLoop | None:
    """The loop in which it was seen, where it has run without a pause ever since, or has ended no step though
    one is overdue: beside the probe's own threads it pauses now and then to let them have the interpreter."""
    reading, activity = frame.stacks_of(rank), rank.activity
    since = activity.awake_since_seconds if activity else None
    if since is None and is_overdue(rank):
        since = frame.monotonic_seconds - (rank.step_age_seconds or 0.0)
    if reading is None or since is None or reading.monotonic_seconds < since:
        return None
    return reading.busy_loop


@lru_cache(maxsize=512)
def _read(stack: Stack) -> Witness:
    return Witness(
        rendezvous=_any(_RENDEZVOUS, stack),
        orderly=_any(_ORDERLY, stack),
        lock_file=_any(_LOCK_FILES, stack),
        given_work=_any(_GIVEN_WORK, stack),
        finished=_any(_EXITS, stack[-1:]),
        queue=_any(_QUEUE, stack[:3]),
        awaits_task=_any(_AWAITS_TASK, stack[:4]),
        downloads=_any(_DOWNLOADS, stack),
        prompt=_any(_PROMPTS, stack),
        long_word=next((each.name for each in stack if _is_long(each)), ""),
        looked=True,
    )


def _any(places: Places, stack: Iterable[StackFrameReading]) -> bool:
    return any(_fits(file, name, each) for each in stack for file, name in places)


def _fits(file: str, name: str, frame: StackFrameReading) -> bool:
    path, function = f"/{frame.file}", frame.name.rsplit(".", 1)[-1]
    at = f"/{file}" in path if file.endswith("/") else path.endswith(f"/{file}") if file else True
    return at and (not name or function == name)


def _is_long(frame: StackFrameReading) -> bool:
    library = frame.file.startswith(("torch/", "<")) or "site-packages" in frame.file
    return not library and re.search(_LONG_WORDS, frame.name) is not None
