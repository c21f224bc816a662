"""Waiting for data: what `torch.utils.data.DataLoader` is asked for, and what it has ready."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..layout import CODES
from .patching import Function, Patching

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from ..interface import ProbeLike
    from ..track import Track

    _Opened = tuple[Track, int, Any, int]
    """Track, depth, iterator, how many it had yielded."""

_DATA, _EVAL = CODES["data"], CODES["eval"]
_MOST_KNOWN = 256
_MOST_WORKERS = 256
_GAUGE_SECONDS = 0.5
_DEAD_WORKER = "DataLoader worker"
_OF_DATA_SET = "Caught "
_SEARCH_AT = (3, 12)
"""Draws after which a model that no optimizer has shown is looked for: at the first of them only where
nothing trains."""


class Loader(Patching):
    """Patches the one class that all of its iterators come from, which leaves their types as they are.

    What a loader feeds, training or evaluation, is reported by the forward that follows its draw, and
    remembered by its dataset, as each epoch has a new iterator.

    Args:
        probe: it reports to.
        unwind: closes what cannot be open any more when the loop draws.
        evaluates: whether the model is in a state for evaluation.
        search: looks for the model in that frame, if it is not known.
    """

    name = "loader"
    counts_steps = 2

    def __init__(
        self,
        probe: ProbeLike,
        unwind: Callable[[], None],
        evaluates: Callable[[], bool],
        search: Callable[[FrameType], None],
    ) -> None:
        super().__init__(probe)
        self._unwind = unwind
        self._evaluates = evaluates
        self._search = search
        self._draws = 0
        self._feeds_evaluation: dict[int, bool] = {}
        self._drawn: int | None = None
        """The dataset of the last draw whose purpose is not yet reported."""
        self._newest = 0
        """Identity of the iterator that the training draws from."""
        self._batch_size: int | None = None
        self._gauged = 0.0
        self._gauges: dict[str, object] = {}
        self._failures = 0
        """Draws that found a worker dead."""

    def install(self) -> None:
        data = self.torch.utils.data
        self.replace(
            data.dataloader._BaseDataLoaderIter,
            "__next__",
            lambda original: self.within(original, self._begin, self._end),
        )
        self.replace(data._utils.worker, "_worker_loop", self._worker)
        self.probe.ask(self._gauge)

    def _gauge(self) -> dict[str, object]:
        if not self._newest:
            return {}
        return {"loader": {**self._gauges, "failures": self._failures}}

    def fed(self, evaluation: bool) -> None:
        """A forward begins, of that kind: so that is what the last draw was for."""
        if self._drawn is not None:
            self._feeds_evaluation[self._drawn] = evaluation
            self._drawn = None
            if len(self._feeds_evaluation) > _MOST_KNOWN:
                del self._feeds_evaluation[next(iter(self._feeds_evaluation))]

    def _begin(self, args: tuple[Any, ...], _kwargs: dict[str, Any]) -> _Opened | None:
        probe = self.probe
        track = probe.loop_track()
        if track is None:
            return None
        self.calls += 1
        self._unwind()
        self._draws += 1
        if self._draws in _SEARCH_AT and (self._draws > _SEARCH_AT[0] or not probe.steps.trains):
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            self._search(frame)
        iterator = args[0]
        self._drawn = dataset = id(iterator._dataset)
        evaluation = self._feeds_evaluation.get(dataset)
        steps = probe.steps
        if evaluation is None and steps.trains and self._evaluates():
            evaluation = True
        if evaluation:
            steps.evaluating()
        else:
            steps.drawing(certain=evaluation is not None)
            if self._newest != id(iterator):
                self._meet(iterator)
            if iterator._num_workers and monotonic() > self._gauged + _GAUGE_SECONDS:
                self._look(iterator)
        depth = track.enter(_EVAL if evaluation else _DATA)
        return track, depth, None if evaluation else iterator, iterator._num_yielded

    def _end(self, opened: _Opened, result: Any) -> None:
        track, depth, iterator, yielded = opened
        track.leave(depth)
        if result is None and _finds_dead_worker(sys.exc_info()[1]):
            self._failures += 1
        if iterator is not None and self._batch_size and iterator._num_yielded > yielded:
            steps = self.probe.steps
            steps.samples = (steps.samples or 0.0) + self._batch_size

    def _meet(self, iterator: Any) -> None:
        self._newest = id(iterator)
        batch_size = getattr(iterator._index_sampler, "batch_size", None)
        self._batch_size = batch_size if isinstance(batch_size, int) else None
        self._gauges = {}
        self.probe.tell(
            loader={
                "num_workers": iterator._num_workers,
                "prefetch_factor": getattr(iterator, "_prefetch_factor", None),
                "pin_memory": iterator._pin_memory,
                "persistent_workers": iterator._persistent_workers,
                "batch_size": self._batch_size,
            }
        )

    def _look(self, iterator: Any) -> None:
        # Here and not in the probe's thread: that one must not be the last to hold the iterator.
        self._gauged = monotonic()
        early = sum(1 for info in iterator._task_info.values() if len(info) > 1)
        queues = {id(each): each for each in (iterator._data_queue, iterator._worker_result_queue)}
        self._gauges = {
            "worker_pids": [worker.pid for worker in iterator._workers[:_MOST_WORKERS]],
            "queue_depth": early + sum(queue.qsize() for queue in queues.values()),
            "queue_capacity": iterator._prefetch_factor * iterator._num_workers,
        }

    def _worker(self, original: Function) -> Function:
        probe = self.probe

        def begin(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
            # In a forked worker nothing of ours is left. A spawned one has run the job's main module
            # anew, and `attach` with it.
            probe.retire("a worker of a loader")

        return self.within(original, begin, self.close)


def _finds_dead_worker(error: BaseException | None) -> bool:
    """It is what a DataLoader raises of a worker that is gone, or of what it had not sent whole. What the
    data set itself has raised in a worker comes with other words."""
    text = str(error)
    if isinstance(error, (ConnectionError, EOFError)):
        return not text.startswith(_OF_DATA_SET)
    return isinstance(error, RuntimeError) and text.startswith(_DEAD_WORKER)
