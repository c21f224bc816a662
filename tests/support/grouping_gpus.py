"""What test_grouping.py and test_grouping_on_gpus.py share."""

from __future__ import annotations

from gputop.probes.model.process_readings import ProcessReading

from support.grouping_parts import process


def names(rank: int, size: int = 2, port: int = 29500, **more: str) -> dict[str, str]:
    """What torchrun sets."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "node",
        "MASTER_PORT": str(port),
        **more,
    }


def torchrun(
    base: int, parent: int = 1, port: int = 29500, workers: int = 2
) -> list[ProcessReading]:
    """A launcher at ``base``, its ranks at +1 and +2, their workers at +11… and +21…"""
    found = [process(base, parent, "/venv/bin/python /venv/bin/torchrun train.py")]
    for rank in range(2):
        pid = base + 1 + rank
        found.append(process(pid, base, environment=names(rank, port=port)))
        for worker in range(workers):
            number = base + 11 + 10 * rank + worker
            found.append(process(number, pid, environment=names(rank, port=port)))
    return found
