"""Which screen is opened by what, and what it lies over. A screen's code is loaded when it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import App
from textual.screen import Screen

from ...probes.model.job_frames import JobFrame
from ...probes.model.process_frames import ProcessFrame
from ...probes.model.rank_readings import StackReading
from ..drawing.target import Target


def open_target(app: App[int], target: Target) -> None:
    """Go into something selected."""
    if target.kind == "gpu":
        from ..screens.gpu_screen import GpuScreen

        app.push_screen(GpuScreen(int(target.id)))
    elif target.kind == "rank":
        from ..screens.rank_screen import RankScreen

        app.push_screen(RankScreen(target))
    else:
        show(app, "findings" if target.kind == "finding" else "processes", target)


def show(app: App[int], name: str, selected: Target | None = None) -> None:
    """Show the screen of that name over the main one, which is shown for any other name."""
    open_names = [screen.name for screen in app.screen_stack]
    if name in open_names and selected is None:
        _close(app, len(open_names) - 1 - open_names.index(name))
        return
    _close(app, len(open_names) - 1)
    screen = _screen(name, selected)
    if screen is not None:
        app.push_screen(screen)


def leave(app: App[int]) -> None:
    """Back to the screen before."""
    if len(app.screen_stack) > 1:
        app.pop_screen()


def _close(app: App[int], count: int) -> None:
    for _ in range(count):
        app.pop_screen()


def _screen(name: str, selected: Target | None) -> Screen[None] | None:
    if name == "links":
        from ..screens.link_screen import LinkScreen

        return LinkScreen()
    if name == "processes":
        from ..screens.process_screen import ProcessScreen

        return ProcessScreen(selected)
    if name == "job":
        from ..screens.job_screen import JobScreen

        return JobScreen()
    if name == "stacks":
        from ..screens.stack_screen import StackScreen

        return StackScreen()
    if name == "host":
        from ..screens.host_screen import HostScreen

        return HostScreen()
    if name == "findings":
        from ..screens.finding_screen import FindingScreen

        return FindingScreen(selected)
    return None


def show_help(app: App[int]) -> None:
    """Explain the screen in front."""
    from ..screens.help_screen import HelpScreen
    from ..screens.picture_screen import PictureScreen

    about = app.screen
    if isinstance(about, PictureScreen) and not isinstance(about, HelpScreen):
        app.push_screen(HelpScreen(about))


def show_environment(app: App[int], process: ProcessFrame, environment: Mapping[str, str]) -> None:
    """Show the environment of a process, once however often the key was pressed."""
    from ..screens.environment_screen import EnvironmentScreen

    if not isinstance(app.screen, EnvironmentScreen):
        app.push_screen(EnvironmentScreen(process, environment))


def show_exact_stack(app: App[int], process: ProcessFrame, reading: StackReading) -> Screen[None]:
    """Show the stack of a process that was stopped for it."""
    from ..screens.exact_stack_screen import ExactStackScreen

    screen = ExactStackScreen(process, reading)
    app.push_screen(screen)
    return screen


def show_jobs(app: App[int], jobs: Sequence[JobFrame]) -> None:
    """Let the reader choose one of these jobs."""
    from ..screens.pick_screen import PickScreen

    if not isinstance(app.screen, PickScreen):
        app.push_screen(PickScreen(jobs))
