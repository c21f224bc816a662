"""Processes that wait for somebody to ask them for something: servers and notebooks, which are idle by nature."""

from __future__ import annotations

import re

from ..probes.model.frame import Frame
from ..probes.model.gpu_frames import GpuFrame
from ..probes.model.process_frames import ProcessFrame
from .rule import rank_on

_SERVERS = re.compile(
    r"vllm|sglang|tritonserver|text-generation|text_generation|lmdeploy|trtllm-serve|llama-server|llama_cpp"
    r"|ollama|api_server|uvicorn|gunicorn|hypercorn|ray::ServeReplica|torchserve|bentoml|litserve"
    r"|ipykernel|jupyter|gradio|streamlit|marimo",
    re.IGNORECASE,
)
"""In a command or a title."""
_WORDS = 4
"""Of a command that say what it runs; the others are its own arguments, as ``--model vllm-tuned``."""
_EVENT_LOOPS = ("ep_poll", "do_epoll_wait", "do_epoll_pwait")
"""Where an event loop sleeps; a training loop waits for a lock, a pipe or the driver."""
_IDLE_CORES = 0.1


def serves(gpu: GpuFrame, frame: Frame) -> bool:
    """Whether what is on this GPU does what it is asked to, and nobody may be asking."""
    rank = rank_on(gpu, frame)
    if rank is not None and rank.step is not None:
        return False  # it trains, in a notebook or wherever
    on = [frame.process(each.pid) for each in gpu.processes or ()]
    known = [process for process in on if process is not None]
    return bool(known) and all(map(_serves, known))


def _serves(process: ProcessFrame) -> bool:
    words = " ".join((process.name or "", *(process.command or ())[:_WORDS]))
    return _SERVERS.search(words) is not None or _sleeps_in_event_loop(process)


def _sleeps_in_event_loop(process: ProcessFrame) -> bool:
    cores = process.cpu_cores
    return (
        process.wait_channel in _EVENT_LOOPS
        and process.state == "S"
        and cores is not None
        and cores < _IDLE_CORES
    )
