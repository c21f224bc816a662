"""Who this process is: the facts that are known from its first moment."""

from __future__ import annotations

import os
import sys

from .rank_variables import Ranks, ranks_in


def identity() -> dict[str, object]:
    """Facts for the page. Unknown is ``None``."""
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    ranks = ranks_in(os.environ) or Ranks(None)
    return {
        "rank": ranks.rank,
        "local_rank": ranks.local_rank,
        "world_size": ranks.world_size,
        "job_name": os.path.basename(script)[:128] or None,
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
    }
