"""What the GPUs' time was lost to since the watch began, in one line."""

from __future__ import annotations

from ...probes.model.job_frames import JobFrame
from ...rules.account.entries import COMPUTE, UNEXPLAINED, title_of
from ...rules.account.minute import shares
from ...rules.finding import Account, Judgement
from . import format
from .finding_words import gpu_time_text
from .glyphs import DOT
from .lines import plain

_LEAST_RATIO = 0.01


def lost_line(judgement: Judgement, job: JobFrame | None = None) -> str:
    """``lost since 10:03: input wait 1.2 GPU-hours (36 %) · …``; empty where nothing was seen.

    Args:
        judgement: whose accounts.
        job: of this one alone; ``None``: of the whole node.
    """
    account = account_for(judgement, job)
    if account is None or account.since_seconds is None:
        return ""
    unit = "GPU" if judgement.frame.gpus else "rank"
    lost = lost_parts(account, unit)
    since = format.clock(account.since_seconds, seconds=False)
    return f"lost since {since}: {f' {DOT} '.join(lost) or 'nothing'}"


def account_for(judgement: Judgement, job: JobFrame | None) -> Account | None:
    """Of the whole watch."""
    if job is not None:
        return judgement.watch_of("job", job.id)
    return judgement.watch_of("node", judgement.frame.node)


def lost_parts(account: Account, unit: str) -> list[str]:
    """Each loss that is worth it, the largest first; what nobody can explain comes last."""
    found = {
        name: share
        for name, share in shares(account).items()
        if name != COMPUTE and share >= _LEAST_RATIO
    }
    ordered = sorted(found, key=lambda name: (name == UNEXPLAINED, -found[name]))
    return [
        f"{plain(title_of(name))} {gpu_time_text(account.entries[name].seconds, unit)}"
        f" ({format.quantity(found[name], 'ratio')})"
        for name in ordered
    ]
