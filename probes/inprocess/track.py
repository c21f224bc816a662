"""The phases of one thread: a stack of what is open, and where its time went.

A phase's time is exclusive: its own span without what is opened inside it. So under Lightning, which
runs forward and backward inside the optimizer's step, each gets its own.

This is the one place that runs at every phase change of the job, so it is written for speed: one
closure over local names, no attribute looked up, no object made that the garbage collector counts.
"""

from __future__ import annotations

from time import perf_counter_ns

from . import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Track:
    """What may be done with a thread's phases. Moments and durations in nanoseconds.

    Attributes:
        enter: open the phase of that code. Returns the depth that closes it again.
        leave: close the phase that was opened at that depth, and all that is still open inside it:
            what an exception has skipped. Returns the moment.
        base: from now on, this is the phase in which nothing else is open.
        charge: add to the open phase the time that it has taken so far. Returns the moment.
        totals: exclusive time per code, up to the last change or charge; of the fixed codes alone where
            the thread has been in none of the user's.
        depth: of the stack; 1: nothing is open.
        top: code of the phase that is open.
        pause: the garbage collector has begun, wherever this thread was.
        resume: it is done. Its time is taken off the phase that it interrupted.
        edges: how many changes there have been.
        end: the thread is over.
        tell: call that function, in this thread, with each phase from that moment on; ``None``: no more.
        rebind: store there from now on. In a forked child the page is the parent's.
    """

    __slots__ = (
        "base",
        "charge",
        "depth",
        "edges",
        "end",
        "enter",
        "leave",
        "pause",
        "rebind",
        "resume",
        "tell",
        "top",
        "totals",
    )

    def __init__(
        self,
        enter: Callable[[int], int],
        leave: Callable[[int], int],
        base: Callable[[int], None],
        charge: Callable[[], int],
        totals: Callable[[], list[int]],
        depth: Callable[[], int],
        top: Callable[[], int],
        pause: Callable[[], None],
        resume: Callable[[], None],
        edges: Callable[[], int],
        end: Callable[[], None],
        rebind: Callable[[memoryview], None],
        tell: Callable[[Callable[[int, int], None] | None], None],
    ) -> None:
        self.enter = enter
        self.leave = leave
        self.base = base
        self.charge = charge
        self.totals = totals
        self.depth = depth
        self.top = top
        self.pause = pause
        self.resume = resume
        self.edges = edges
        self.end = end
        self.rebind = rebind
        self.tell = tell


def make_track(words: memoryview, slot: int, code: int, thread_id: int) -> Track:
    """A track that stores into that slot of a page.

    Args:
        words: of the page.
        slot: number of the thread's slot.
        code: of the phase it is in while nothing is open.
        thread_id: the kernel's, of the thread that will use it.
    """
    at = (layout.SLOTS_AT + slot * layout.SLOT_SIZE) // 8
    word_at = at + layout.SLOT_WORD // 8
    head_at = at + layout.SLOT_HEAD // 8
    totals_at = at + layout.SLOT_TOTALS // 8
    ring_at = (layout.RINGS_AT + slot * layout.RING_WORDS * 8) // 8
    ring_mask = layout.RING_WORDS - 1
    word_mask = layout.WORD_MASK
    clock = perf_counter_ns
    gc_code = layout.CODES["gc"]
    codes = layout.USER_CODE
    """So many of them, from 0 on, may have taken time."""
    bottom = code
    stack = [code]
    spent = [0] * layout.MAX_CODES
    since = clock()
    """When the open phase began, moved on by the garbage collection in it."""
    word = layout.word(since, code)
    head = 1
    paused_at = 0
    reported: Callable[[int, int], None] | None = None

    def enter(code: int) -> int:
        nonlocal since, head, word, codes
        now = clock()
        top = stack[-1]
        spent[top] = words[totals_at + top] = spent[top] + now - since
        since = now
        if code >= codes:
            codes = code + 1
        depth = len(stack)
        stack.append(code)
        words[ring_at + (head & ring_mask)] = word = (now << 8 | code) & word_mask
        head += 1
        words[head_at] = head
        words[word_at] = word
        if reported is not None:
            reported(code, now)
        return depth

    def leave(depth: int) -> int:
        nonlocal since, head, word
        now = clock()
        top = stack.pop()
        spent[top] = words[totals_at + top] = spent[top] + now - since
        since = now
        if len(stack) != depth:
            close(depth)
        words[ring_at + (head & ring_mask)] = word = (now << 8 | stack[-1]) & word_mask
        head += 1
        words[head_at] = head
        words[word_at] = word
        if reported is not None:
            reported(stack[-1], now)
        return now

    def close(depth: int) -> None:
        del stack[max(depth, 1) :]
        if not stack:
            stack.append(bottom)

    def base(code: int) -> None:
        nonlocal bottom
        bottom = code
        if len(stack) > 1:
            stack[0] = code
        elif stack[0] != code:
            enter(code)
            del stack[0]

    def charge() -> int:
        nonlocal since
        now = clock()
        top = stack[-1]
        spent[top] = words[totals_at + top] = spent[top] + now - since
        since = now
        return now

    def totals() -> list[int]:
        return spent[:codes]

    def depth() -> int:
        return len(stack)

    def top() -> int:
        return stack[-1]

    def pause() -> None:
        nonlocal paused_at
        paused_at = clock()
        words[word_at] = (paused_at << 8 | gc_code) & word_mask

    def resume() -> None:
        nonlocal since
        took = clock() - paused_at
        spent[gc_code] = words[totals_at + gc_code] = spent[gc_code] + took
        since += took
        words[word_at] = word

    def edges() -> int:
        return head

    def end() -> None:
        enter(layout.CODES["none"])
        words[at + layout.SLOT_ENDED // 8] = since

    def tell(function: Callable[[int, int], None] | None) -> None:
        nonlocal reported
        reported = function

    def rebind(view: memoryview) -> None:
        nonlocal words
        words = view

    # A slot may have had a thread before.
    words[at + layout.SLOT_ENDED // 8] = 0
    for number in range(layout.MAX_CODES):
        words[totals_at + number] = 0
    words[at + layout.SLOT_BEGAN // 8] = since
    words[ring_at] = words[word_at] = word
    words[head_at] = head
    words[at + layout.SLOT_THREAD // 8] = thread_id
    return Track(
        enter, leave, base, charge, totals, depth, top, pause, resume, edges, end, rebind, tell
    )
