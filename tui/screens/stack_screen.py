"""Stacks: where in the code?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from ...probes.model.job_frames import RankFrame
from ...rules.closer_look import LOOK_SECONDS
from ..drawing.explanations import Section, drawn_terms
from ..drawing.target import Block, Target, rank_target
from ..panels.rank_stack import TERMS as STACK_TERMS
from ..panels.stack_groups import TERMS as GROUP_TERMS
from ..panels.stack_tree import TERMS as TREE_TERMS
from ..panels.stacks import BESIDE_FROM, StackLook, chosen_rank, draw_stacks, ranks_of
from ..reports.saving import save_text
from ..reports.stacks_text import stacks_text
from ..session.view import View
from .picture_screen import BACK, PictureScreen

_SCROLL_LINES = 3
_INTERVALS = 2.5
"""A request must last until the next sample has come and been drawn."""


class StackScreen(PictureScreen):
    """Groups of ranks by stack, and the stack of the selected one.

    While it is in front, stacks are asked for: each picture renews the request.
    """

    NAME = "stacks"
    BINDINGS: ClassVar[list[BindingType]] = [
        BACK,
        Binding("y", "copy", "copy"),
        Binding("w", "save", "save to a file"),
        Binding("b", "exact", "exact stack, which stops the rank", show=False),
        Binding("tab", "other_side", "tree or stack"),
        Binding("enter", "open", "rank", show=False),
        Binding("right,l", "scroll(1)", "scroll the stack down", show=False),
        Binding("left,h", "scroll(-1)", "scroll the stack up", show=False),
        Binding("n", "next_job", "next job", show=False),
    ]
    WITHOUT = frozenset({"signal", "sort"})

    def __init__(self) -> None:
        super().__init__()
        self._look = StackLook()
        self._requested: tuple[int, ...] = ()
        self._requested_at = 0.0

    def draw(self, view: View, width: int, height: int) -> Block:
        return draw_stacks(view, self.gputop.shown_job.of(view), self._look, width, height)

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        text = self.draw(view, width, height).text
        terms = drawn_terms([*STACK_TERMS, *TREE_TERMS], text)
        return [
            Section("Groups", [GROUP_TERMS[0], *drawn_terms(GROUP_TERMS[1:], text)]),
            Section("Stacks", terms),
        ]

    def targets(self, view: View) -> Sequence[Target]:
        return [rank_target(rank) for rank in self._ranks(view)]

    def redraw(self) -> None:
        super().redraw()
        self._request()

    def on_screen_suspend(self) -> None:
        self._withdraw()

    def on_unmount(self) -> None:
        self._withdraw()

    def open(self, target: Target) -> None:
        self.gputop.open(target)

    def action_open(self) -> None:
        rank = self._chosen()
        if rank is not None:
            self.open(rank_target(rank))

    def action_move(self, steps: int) -> None:
        if self.selected is None and (rank := self._chosen()) is not None:
            self.selected = rank_target(rank)  # it is shown already, so go on from there
        self._look = self._look._replace(first=0)
        super().action_move(steps)

    def action_scroll(self, steps: int) -> None:
        first = max(0, self._look.first + _SCROLL_LINES * steps)
        self._look = StackLook(first=first)
        self.redraw()

    def action_other_side(self) -> None:
        if self.size.width >= BESIDE_FROM:
            self.tell("tree and stack are both in sight")
            return
        self._look = StackLook(tree=not self._look.tree)
        self.redraw()

    def action_next_job(self) -> None:
        view = self.view()
        if view is not None and self.gputop.shown_job.move(view, 1):
            self.selected = None
            self._look = StackLook()
            self.redraw()

    def begin_anew(self) -> None:
        super().begin_anew()
        self._look = StackLook()

    def action_copy(self) -> None:
        text = self._text()
        if text:
            self.gputop.copy_to_clipboard(text)
            lines = len(text.splitlines())
            self.tell(f"{lines} lines copied, if the terminal allows it (OSC 52); w saves them")

    def action_exact(self) -> None:
        rank = self._chosen()
        if rank is None:
            self.tell("there is no rank to look at")
            return
        self.gputop.requests.exact_stack(Target("process", rank_target(rank).id))

    def action_save(self) -> None:
        text, view = self._text(), self.view()
        if not text or view is None:
            return
        try:
            path = save_text("stacks", text, Path.cwd(), view.frame.time_seconds)
        except FileExistsError:
            self.tell("these stacks are saved already")
        except OSError as error:
            self.tell(f"not saved: {error.strerror or error}")
        else:
            self.tell(f"saved as {path}")

    def _text(self) -> str:
        view = self.view()
        job = self.gputop.shown_job.of(view) if view else None
        if view is None or job is None:
            self.tell("no training job is known on this node")
            return ""
        return stacks_text(view.frame, job, self._chosen())

    def _chosen(self) -> RankFrame | None:
        view = self.view()
        return chosen_rank(view, self._ranks(view)) if view else None

    def _ranks(self, view: View) -> Sequence[RankFrame]:
        job = self.gputop.shown_job.of(view)
        return ranks_of(view, job) if job else []

    def _request(self) -> None:
        """Ask for stacks of all living ranks, again before the last request runs out."""
        view = self.view()
        job = self.gputop.shown_job.of(view) if view else None
        if view is None or job is None or view.stands_still or not self.is_current:
            return
        pids = tuple(rank.pid for rank in job.living)
        now = self.gputop.reader.clock()
        seconds = max(LOOK_SECONDS, _INTERVALS * view.interval_seconds)
        if pids == self._requested and now - self._requested_at < seconds / 3:
            return
        self._requested, self._requested_at = pids, now
        self.gputop.requests.stacks(pids, seconds)

    def _withdraw(self) -> None:
        if self._requested:
            self.gputop.requests.stacks(self._requested, 0.0)
            self._requested = ()
