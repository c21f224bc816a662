"""``python -m gputop``: the same as the ``gputop`` command."""

from .tui.cli import main

raise SystemExit(main())
