from __future__ import annotations

from ._long_work import LongWork


class StartUpHoldsOthers(LongWork):
    """Start-up holds the others.

    Meaning:
        One rank still imports modules or starts while the others wait for it. It moves. It becomes a
        warning when nothing was seen to move on for ten minutes.
    Impact:
        No step is made until it has come; past the time limit of the rendezvous the job ends.
    Diagnosis:
        Compare its reads with those of the others: a cold file cache, a network file system with many
        small files, a node that is short of cores.
    Mitigation:
        Keep the environment on a local disk or in an image, and let no rank compile extensions alone.
    """

    id = "RUN428"
    name = "start-up holds the others"
    short = "start-up"
    label = "startup"
    next_step = (
        "Nothing is wrong while it moves: wait for it, or keep the environment on a local disk."
    )
