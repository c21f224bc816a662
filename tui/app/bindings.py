"""The keys that every screen has. A screen's ``WITHOUT`` names those that do nothing on it."""

from __future__ import annotations

from textual.binding import Binding, BindingType

BINDINGS: tuple[BindingType, ...] = (
    Binding("question_mark", "help", "help"),
    Binding("q", "quit", "quit"),
    Binding("1", "show('gpus')", "GPUs"),
    Binding("2", "show('job')", "job"),
    Binding("3", "show('links')", "links"),
    Binding("4", "show('processes')", "procs"),
    Binding("5", "show('stacks')", "stacks"),
    Binding("6", "show('findings')", "findings"),
    Binding("7", "show('host')", "host", show=False),
    Binding("slash", "filter", "filter"),
    Binding("s", "sort", "sort"),
    Binding("space", "pause", "pause"),
    Binding("a", "choose_job", "watch another job", show=False),
    Binding("plus,equals_sign", "interval(1)", "longer interval", show=False),
    Binding("minus", "interval(-1)", "shorter interval", show=False),
    Binding("w", "keep", "write the last 10 minutes to a file", show=False),
    Binding("left_square_bracket", "seek(-10)", "10 s back", show=False),
    Binding("right_square_bracket", "seek(10)", "10 s on", show=False),
    Binding("left_curly_bracket", "seek(-60)", "a minute back", show=False),
    Binding("right_curly_bracket", "seek(60)", "a minute on", show=False),
    Binding("end", "now", "back to now", show=False, priority=True),
    Binding("n", "seek_finding", "to where the next finding began", show=False),
    Binding("less_than_sign", "speed(0.5)", "half as fast", show=False),
    Binding("greater_than_sign", "speed(2)", "twice as fast", show=False),
    Binding("t", "theme", "next theme", show=False),
    Binding("ctrl+c", "interrupt", "quit", show=False, priority=True),
    Binding("ctrl+z", "suspend_process", "suspend", show=False, priority=True),
)
