"""Python stacks of the simulated ranks: for each phase the frames that a real loop of its kind shows."""

from __future__ import annotations

from collections.abc import Collection

from ..model.rank_readings import DUMPS, Stack, StackFrameReading, StackReading, StackThreadReading
from ..sources.stacks.source import EVERY_SECONDS
from .job import rank_pid
from .rhythm import RANKS, Rhythm
from .timeline import MICROSECONDS

_DUMP_SECONDS = 0.031
_EVERY = round(EVERY_SECONDS * MICROSECONDS)

_PHASES = {
    "data": """
        select (selectors.py:415)
        wait (multiprocessing/connection.py:1136)
        _poll (multiprocessing/connection.py:440)
        poll (multiprocessing/connection.py:257)
        get (multiprocessing/queues.py:113)
        _try_get_data (torch/utils/data/dataloader.py:1285)
        _get_data (torch/utils/data/dataloader.py:1444)
        _next_data (torch/utils/data/dataloader.py:1492)
        __next__ (torch/utils/data/dataloader.py:732)
        batches (data.py:88)
        main (train.py:172)
        <module> (train.py:231)""",
    "h2d": """
        to_device (data.py:104)
        train_step (train.py:112)
        main (train.py:174)
        <module> (train.py:231)""",
    "forward": """
        forward (torch/nn/modules/linear.py:134)
        _call_impl (torch/nn/modules/module.py:1786)
        _wrapped_call_impl (torch/nn/modules/module.py:1775)
        forward (model.py:143)
        _call_impl (torch/nn/modules/module.py:1786)
        _wrapped_call_impl (torch/nn/modules/module.py:1775)
        train_step (train.py:116)
        main (train.py:174)
        <module> (train.py:231)""",
    "backward": """
        _engine_run_backward (torch/autograd/graph.py:841)
        backward (torch/autograd/__init__.py:354)
        backward (torch/_tensor.py:625)
        train_step (train.py:119)
        main (train.py:174)
        <module> (train.py:231)""",
    "comm": """
        all_reduce (torch/distributed/distributed_c10d.py:2951)
        wrapper (torch/distributed/c10d_logger.py:81)
        reduce_gradients (train.py:96)
        train_step (train.py:121)
        main (train.py:174)
        <module> (train.py:231)""",
    "optimizer": """
        step (torch/optim/adamw.py:246)
        wrapper (torch/optim/optimizer.py:517)
        train_step (train.py:124)
        main (train.py:174)
        <module> (train.py:231)""",
    "sync": """
        synchronize (torch/cuda/__init__.py:1083)
        log_loss (train.py:139)
        train_step (train.py:118)
        main (train.py:174)
        <module> (train.py:231)""",
    "other": """
        log_metrics (train.py:143)
        main (train.py:178)
        <module> (train.py:231)""",
    "startup": """
        load_shard (checkpoint.py:61)
        build_model (model.py:210)
        main (train.py:158)
        <module> (train.py:231)""",
    "compile": """
        compile_fx (torch/_inductor/compile_fx.py:1702)
        _compile_inner (torch/_dynamo/convert_frame.py:1194)
        __call__ (torch/_dynamo/convert_frame.py:1521)
        train_step (train.py:116)
        main (train.py:174)
        <module> (train.py:231)""",
    "checkpoint": """
        write_data (torch/distributed/checkpoint/filesystem.py:671)
        save (torch/distributed/checkpoint/state_dict_saver.py:176)
        save_checkpoint (checkpoint.py:44)
        main (train.py:184)
        <module> (train.py:231)""",
    "eval": """
        forward (model.py:143)
        _call_impl (torch/nn/modules/module.py:1786)
        evaluate (train.py:151)
        main (train.py:188)
        <module> (train.py:231)""",
    "idle": """
        poll (asyncio/selector_events.py:112)
        run_forever (asyncio/base_events.py:645)
        <module> (train.py:231)""",
}
_PIN_MEMORY = """
    select (selectors.py:415)
    wait (multiprocessing/connection.py:1136)
    get (multiprocessing/queues.py:113)
    do_one_step (torch/utils/data/_utils/pin_memory.py:37)
    _pin_memory_loop (torch/utils/data/_utils/pin_memory.py:61)
    run (threading.py:992)
    _bootstrap_inner (threading.py:1041)
    _bootstrap (threading.py:1012)"""


def _frame(text: str) -> StackFrameReading:
    name, _, place = text.strip().rpartition(" (")
    file, _, line = place.removesuffix(")").rpartition(":")
    return StackFrameReading(name=name, file=file, line=int(line))


def _stack(text: str) -> Stack:
    return tuple(_frame(line) for line in text.strip().splitlines())


_STACKS = {phase: _stack(text) for phase, text in _PHASES.items()}
_OTHERS = StackThreadReading(
    frames=_stack(_PIN_MEMORY), name="Thread-1 (_pin_memory_loop)", active=False
)


class Stacks:
    """Dumps of all ranks, taken at the same moments.

    Args:
        rhythm: says in which phase a rank is.
        zero_seconds: the node's monotonic clock at elapsed 0.
        start_times: of the ranks' processes.
    """

    def __init__(self, rhythm: Rhythm, zero_seconds: float, start_times: list[float]) -> None:
        self._rhythm = rhythm
        self._zero = zero_seconds
        self._start_times = start_times

    def read(self, moment: int, since: int, living: Collection[int]) -> tuple[StackReading, ...]:
        """What is known at a moment where stacks have been asked for since another; microseconds.

        Args:
            moment: of the sample.
            since: when they were first asked for.
            living: pids of which there are any.
        """
        last = moment - (moment - since) % _EVERY
        dumps = list(range(last, since - 1, -_EVERY))
        return tuple(
            self._reading(rank, dumps[:DUMPS][::-1], len(dumps))
            for rank in range(RANKS)
            if dumps and rank_pid(rank) in living
        )

    def _reading(self, rank: int, dumps: list[int], taken: int) -> StackReading:
        timeline = self._rhythm.ranks[rank]
        phases = [timeline.spell(at).phase for at in dumps]
        stacks = tuple(_STACKS[phase] for phase in phases)
        main = StackThreadReading(
            frames=stacks[-1],
            name="MainThread",
            os_thread_id=rank_pid(rank),
            main=True,
            active=phases[-1] != "data",
            owns_gil=phases[-1] in ("h2d", "forward", "other"),
        )
        return StackReading(
            monotonic_seconds=self._zero + dumps[-1] / MICROSECONDS,
            pid=rank_pid(rank),
            start_time_seconds=self._start_times[rank],
            threads=(main, _OTHERS),
            main_stacks=stacks,
            taken=taken,
            duration_seconds=_DUMP_SECONDS,
            state_after="S" if phases[-1] == "data" else "R",
        )
