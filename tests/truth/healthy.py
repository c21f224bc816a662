"""Jobs in which nothing is wrong, however awkward they look."""

from __future__ import annotations

from .case import Case, Launcher


def _case(
    name: str,
    job: str,
    ranks: int = 1,
    *,
    step_seconds: float = 0.1,
    launcher: Launcher = "mpirun",
    launcher_options: tuple[str, ...] = (),
    beside: str = "",
) -> Case:
    return Case(
        name=name,
        job=job,
        faulty=False,
        ranks=ranks,
        step_seconds=step_seconds,
        launcher=launcher if ranks > 1 else "none",
        launcher_options=launcher_options,
        beside=beside,
    )


HEALTHY: tuple[Case, ...] = (
    _case("trains", "training.plain"),
    _case("trains: two ranks under torchrun", "training.plain", 2, launcher="torchrun"),
    _case("accumulates gradients", "training.accumulates", step_seconds=2.0),
    _case("accumulates gradients: two ranks", "training.accumulates", 2, step_seconds=2.0),
    _case("log-normal steps", "training.varies", step_seconds=0.2),
    _case("log-normal steps: two ranks", "training.varies", 2, step_seconds=0.3),
    _case("pauses between epochs", "training.pauses"),
    _case("pauses between epochs: two ranks", "training.pauses", 2),
    _case("loader's workers between epochs", "loaders.pauses"),
    _case("ends while it is watched", "training.ends"),
    _case("ends while it is watched: two ranks", "training.ends", 2),
    _case("a thread holds the GIL", "training.holds_gil"),
    _case(
        "restarted by torchrun",
        "training.restarts",
        2,
        launcher="torchrun",
        launcher_options=("--max-restarts=1",),
    ),
    _case("two jobs on one node", "training.plain", 2, beside="training.plain"),
    _case("a hung job on the same node", "training.plain", 2, beside="hung.odd_lock"),
    _case("engine and trainer in turn", "training.takes_turns", 2, step_seconds=12.0),
    _case("functions called save, evaluate, sleep", "working.own_words"),
    _case("threads called save, evaluate", "working.own_threads"),
    _case("loads a checkpoint", "working.loads_checkpoint"),
    _case("evaluates", "working.evaluates"),
    _case("evaluates: the other rank waits", "working.evaluates", 2),
    _case("saves: the other rank waits", "working.saves", 2),
    _case("compiles", "working.compiles"),
    _case("compiles: the other rank waits", "working.compiles", 2),
    _case("main process first", "working.preprocesses_first", 2),
    _case("downloads: the other rank waits", "working.downloads", 2),
    _case("one rank starts for long", "working.starts_long", 2),
    _case("fills a shuffle buffer", "working.fills_buffer"),
    _case("checkpoint by a thread", "working.saves_beside"),
    _case("waits for a child that works", "working.waits_for_a_child"),
    _case("watches for a file", "working.watches_for_a_file"),
    _case("waits for the lock of a build", "working.builds_first", 2),
    _case("has a child that ended", "working.has_ended_children"),
    _case("idle: HTTP server", "idle.http_server"),
    _case("idle: accept", "idle.bare_accept"),
    _case("idle: queue of requests", "idle.request_queue"),
    _case("idle: engine with two workers", "idle.engine_workers"),
    _case("idle: actor", "idle.actor"),
    _case("idle: prompt", "idle.prompt"),
    _case("idle: debugger", "idle.debugger"),
    _case("idle: notebook", "idle.notebook"),
)
