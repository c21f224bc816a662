"""Where one training step ends and the next begins, reported from what the job does.

There is no call that says so. What is seen is draws from a loader, forwards, backwards and optimizers
that step, in orders that differ by framework; this is what is made of them:

- A step ends at the last optimizer exit before the next draw. ZeRO and chained optimizers step many
  times in a row, a GAN has one optimizer for each network: all of it is one step.
- Where nothing is drawn between two steps (no DataLoader), it ends at the last optimizer exit before
  the next forward or backward, once as many optimizers have stepped as usually take turns.
- The same optimizer again after another backward is another step, whatever was drawn.
- Backwards before the exit are micro-steps: gradient accumulation.
- A scaler that leaves the optimizer out ends the step too, as a skipped one.
- Without any optimizer or backward (inference), each draw begins a step; and where there are
  backwards and never an optimizer, after the first few.
- Evaluation and checkpoints end the step before them and belong to none: the next one begins after.
- Where the job waits for whoever types (a notebook), the step before has ended, and what was begun
  of another is none.
- After the first `explicit`, only those count.
"""

from __future__ import annotations

from .layout import CODES, MAX_CODES, UNKNOWN, Step, step_payload
from .track import Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_TURNS_REMEMBERED = 64
_PATIENCE = 8
"""Micro-steps without an optimizer before the draws are counted: it may be one that cannot be seen."""
_CODES = range(MAX_CODES)
_STARTUP, _EVAL, _OTHER, _IDLE = (CODES[name] for name in ("startup", "eval", "other", "idle"))


class _Ending:
    """A moment at which a step may have ended."""

    __slots__ = ("micro_steps", "moment", "skipped", "totals")

    def __init__(self, moment: int, totals: list[int], micro_steps: int, skipped: bool) -> None:
        self.moment = moment
        self.totals = totals
        self.micro_steps = micro_steps
        self.skipped = skipped


class Steps:
    """The steps of one thread's loop. All of its methods are called by that thread.

    Args:
        track: of the thread.
        store: takes each step's payload with its index, from 0.
        at_end: functions to be called after each step; one may remove itself.
        store_evaluations: takes their number when one begins.

    Attributes:
        count: how many steps have ended.
        evaluations: how many have begun.
        trains: whether there is an optimizer, or was a backward: otherwise nothing is an evaluation.
        samples: of the step in progress; whoever knows may set it.
        tokens: the same.
    """

    def __init__(
        self,
        track: Track,
        store: Callable[[int, bytes], None],
        at_end: list[Callable[[Step], None]],
        store_evaluations: Callable[[int], None],
    ) -> None:
        self._track = track
        self._store = store
        self._at_end = at_end
        self._store_evaluations = store_evaluations
        self.count = 0
        self.evaluations = 0
        self._all_skipped = 0
        self._all_samples = 0.0
        self._all_tokens = 0.0
        self._from: _Ending | None = None
        self._pending: _Ending | None = None
        self._micro = 0
        self._started = self._now(skipped=False)
        self._draws = 0
        self._forwards = 0
        self._optimizer_seen = False
        self._explicit = False
        self._evaluating = False
        self._paused = False
        self._resting = _STARTUP
        self._patience = _PATIENCE
        self.trains = False
        self._stepped: set[int] = set()
        """Optimizers that have stepped since the last end."""
        self._fresh: set[int] = set()
        """Those that have since the last backward."""
        self._turns: list[int] = []
        self._newest_turn: int | None = None
        self._taking_turns = 1
        self.samples: float | None = None
        self.tokens: float | None = None

    def begin(self) -> None:
        """Something begins that belongs to a step, if it is the first: the first step begins here."""
        if self._from is None:
            self.resume()
            self._from = self._now(skipped=False)

    def drawing(self, certain: bool = True) -> None:
        """The loop asks its loader for a batch.

        Args:
            certain: the loader is known to feed the training.
        """
        if certain and self._evaluating:
            self.evaluated()
        if self._from is None:
            self.begin()
        if self._explicit:
            return
        if self._pending:
            self._close()
        elif (self._forwards and not self.trains) or self._by_hand():
            self._pending = self._now(skipped=False)
            self._close()
        self._draws += 1

    def forward(self) -> None:
        """A training forward begins."""
        self._training()
        self._forwards += 1

    def backward(self) -> None:
        """A backward begins."""
        self.trains = True
        self._training()

    def backward_done(self) -> None:
        """A backward has ended."""
        self._micro += 1
        self._fresh.clear()

    def optimizer_done(self, key: int, moment: int, skipped: bool = False) -> None:
        """An optimizer has stepped, or was left out by its scaler.

        Args:
            key: tells one optimizer from another.
            moment: at which it left its phase.
            skipped: it was left out.
        """
        self.trains = self._optimizer_seen = True
        if self._evaluating:
            self.evaluated()
        if self._from is None:
            self.begin()
        if self._explicit:
            return
        pending = self._pending
        if pending and key in self._stepped and key not in self._fresh:
            self._close()
            pending = None
        if key != self._newest_turn or self._taking_turns > 1:
            self._learn_turns(key)
        self._stepped.add(key)
        self._fresh.add(key)
        micro, self._micro = self._micro, 0
        if pending:
            micro += pending.micro_steps
            skipped = skipped and pending.skipped
        self._pending = _Ending(moment, self._track.totals(), micro, skipped)

    def evaluating(self) -> None:
        """A forward begins that is no training, or a draw for one."""
        self.between()
        self._draws = 0
        if not self._evaluating:
            self._evaluating = True
            self._track.base(_EVAL)
            self.evaluations += 1
            self._store_evaluations(self.evaluations)

    def evaluated(self) -> None:
        """What begins now is none. To say so without one before changes nothing."""
        if self._evaluating:
            self._evaluating = False
            self._track.base(self._resting)
            self.between_done()

    def between(self) -> None:
        """Something begins that is not part of a step, such as a checkpoint."""
        if self._pending and not self._explicit:
            self._close()

    def between_done(self) -> None:
        """What is not part of a step has ended."""
        if not (self._pending or self._micro or self._draws or self._forwards):
            self._from = self._now(skipped=False)

    def pause(self) -> None:
        """The job waits for whoever types: nothing is open, and no step in progress."""
        self.finish()
        self._from = self._pending = None
        self._draws = self._forwards = self._micro = 0
        self._stepped.clear()
        self._fresh.clear()
        self._evaluating = False
        if self._track.depth() > 1:
            self._track.leave(1)  # what an exception has left open
        self._paused = True
        self._track.base(_IDLE)

    def resume(self) -> None:
        """It goes on. To say so where it has not paused changes nothing."""
        if self._paused:
            self._paused = False
            self._track.base(self._resting)
            self._started = self._now(skipped=False)

    def forget(self) -> bool:
        """Some of what is reported here was not reported for a while. False: it changes nothing, for no step was
        begun, or the job itself says where they end."""
        if self._explicit or (self._from is None and not self.count):
            return False
        self._from = self._pending = None
        self._draws = self._forwards = self._micro = 0
        self._stepped.clear()
        self._fresh.clear()
        return True

    def finish(self) -> None:
        """The job is over: so is its last step."""
        if self._pending and not self._explicit:
            self._close()

    def explicit(
        self, samples: float | None = None, tokens: float | None = None, loss: float | None = None
    ) -> None:
        """The job itself says that a step is over. From the first time on, nobody else does."""
        self._from = self._from or self._started
        self._explicit = True
        if samples is not None:
            self.samples = samples
        if tokens is not None:
            self.tokens = tokens
        skipped = self._pending is not None and self._pending.skipped
        self._pending = self._now(skipped)
        self._close(loss)

    def _training(self) -> None:
        if self._evaluating:
            self.evaluated()
        if self._from is None:
            self.begin()
        if (
            self._pending
            and not self._explicit
            and not self._draws
            and len(self._stepped) >= self._taking_turns
        ):
            self._close()

    def _by_hand(self) -> bool:
        if self._micro >= self._patience and not self._optimizer_seen:
            self._patience = 1
            return True
        return False

    def _rest(self) -> None:
        self._resting = _OTHER
        self._track.base(_EVAL if self._evaluating else _OTHER)

    def _now(self, skipped: bool) -> _Ending:
        micro = self._micro + (self._pending.micro_steps if self._pending else 0)
        self._micro = 0
        return _Ending(self._track.charge(), self._track.totals(), micro, skipped)

    def _learn_turns(self, key: int) -> None:
        """How many optimizers step before the same one does again."""
        turns = self._turns
        self._newest_turn = key
        if key in turns:
            last = len(turns) - 1 - turns[::-1].index(key)
            self._taking_turns = len(set(turns[last:]))
            del turns[: last + 1]
        turns.append(key)
        del turns[:-_TURNS_REMEMBERED]

    def _close(self, loss: float | None = None) -> None:
        ending, before = self._pending, self._from
        if ending is None or before is None:
            return
        index, samples, tokens = self.count, self.samples, self.tokens
        self.count = index + 1
        self._all_skipped += ending.skipped
        if samples is not None:
            self._all_samples += samples
        if tokens is not None:
            self._all_tokens += tokens
        reported = (
            index + 1,
            ending.moment,
            ending.moment - before.moment,
            samples,
            tokens,
            loss,
            ending.micro_steps,
            ending.skipped,
            None,
        )
        sums = (self._all_skipped, self._all_samples, self._all_tokens)
        words = _time_between(before.totals, ending.totals)
        self._begin_next(ending)
        self._store(index, step_payload(*reported, *sums, words))
        if self._at_end:
            phases = [(code, host, None) for code, host in zip(words[::3], words[1::3])]
            step = Step(*reported, phases, *sums)
            for function in tuple(self._at_end):
                function(step)

    def _begin_next(self, ending: _Ending) -> None:
        self._from = ending
        self._pending = self.samples = self.tokens = None
        if self._resting != _OTHER:
            self._rest()
        self._draws = self._forwards = 0
        self._stepped.clear()


def _time_between(then: list[int], now: list[int]) -> list[int]:
    """The phases that have taken time, in the words of a step's payload."""
    if len(now) > len(then):
        then = then + [0] * (len(now) - len(then))
    words: list[int] = []
    for code, begin, end in zip(_CODES, then, now):
        if end > begin:
            words += (code, end - begin, UNKNOWN)
    return words
