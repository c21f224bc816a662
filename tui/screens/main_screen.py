"""The main screen: which GPU is the odd one, what its seconds go to, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ..drawing.explanations import Section
from ..drawing.target import Block, Target, finding_target, gpu_target, process_target
from ..panels.main import draw, processes_of, shown_causes
from ..session.view import View
from .picture_screen import PictureScreen


class MainScreen(PictureScreen):
    """GPUs, the ledger, findings, processes and the host."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,l,right", "open", "detail"),
        Binding("tab", "panel(1)", "next panel", show=False),
        Binding("shift+tab", "panel(-1)", "previous panel", show=False),
    ]

    WITHOUT = frozenset()

    def draw(self, view: View, width: int, height: int) -> Block:
        return draw(view, width, height)

    def explained(self, view: View, width: int, height: int) -> Sequence[Section]:
        from ..panels.main_terms import explained  # not needed for the first picture

        return explained(view, width, height)

    def targets(self, view: View) -> Sequence[Target]:
        return [
            *[gpu_target(gpu.index) for gpu in view.frame.gpus],
            *[finding_target(cause.first) for cause in shown_causes(view)],
            *[process_target(process) for process in processes_of(view)],
        ]

    def open(self, target: Target) -> None:
        self.gputop.open(target)

    def action_open(self) -> None:
        view = self.view()
        if view is None:
            return
        target = self.selected or _worst(view) or next(iter(self.targets(view)), None)
        if target is not None:
            self.open(target)

    def action_panel(self, step: int) -> None:
        """Select the first thing of the next panel."""
        view = self.view()
        if view is None:
            return
        firsts: dict[str, Target] = {}
        for target in self.targets(view):
            firsts.setdefault(target.kind, target)
        kinds = list(firsts)
        if not kinds:
            return
        kind = self.selected.kind if self.selected else ""
        at = kinds.index(kind) if kind in kinds else -1  # a filter may hide what is selected
        self.selected = firsts[kinds[(at + step) % len(kinds)]]
        self.redraw()


def _worst(view: View) -> Target | None:
    """The GPU that the most urgent finding is about, or else that finding itself."""
    worst = next(iter(view.judgement.active), None)
    if worst is None:
        return None
    gpu = worst.subject.gpu
    known = gpu is not None and view.frame.gpu(gpu) is not None
    return gpu_target(gpu) if gpu is not None and known else finding_target(worst)
