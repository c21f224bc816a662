"""Training that comes to stand still: in the odd rank while the others wait for it, or in all at once.

``hung.odd_WAY`` and ``hung.all_WAY`` with any way of ``blocks``, ``everyday`` and ``rare``; one process alone is
the odd one.
"""

import os

import blocks
import everyday
import rare


def _odd(way):
    def run(job):
        job.steps()
        job.train_until_due()
        if job.odd:
            way(job)
        job.train()

    return run


def _all(way):
    def run(job):
        job.steps()
        job.train_until_due()
        way(job)

    return run


def _before_meeting(way):
    """Before the process group exists."""

    def run(job):
        import torch  # noqa: F401

        if job.odd:
            way(job)
        job.meet()

    return run


def _in_save(way):
    """In what stands where a checkpoint is written, without a byte."""

    def save_checkpoint(job):
        way(job)

    def run(job):
        job.steps()
        if job.odd:
            save_checkpoint(job)
        job.train()

    return run


def _in_evaluation(way):
    def evaluate(job, model):
        import torch

        model.eval()
        with torch.no_grad():
            for _ in range(5):
                getattr(model, "module", model)(torch.randn(8, 128))
            way(job)

    def run(job):
        job.steps()
        if job.odd:
            evaluate(job, job.model())
        job.train()

    return run


_PLACES = {
    "odd": _odd,
    "all": _all,
    "early": _before_meeting,
    "saving": _in_save,
    "evaluating": _in_evaluation,
}


def __getattr__(name):
    place, _, way = name.partition("_")
    if place not in _PLACES:
        raise AttributeError(name)
    module = next(each for each in (blocks, everyday, rare) if hasattr(each, way))
    return _PLACES[place](getattr(module, way))


def save_to_fifo(job):
    """torch.save itself waits: what it writes to is a FIFO that nobody reads."""
    import torch

    job.steps()
    if job.odd:
        path = job.folder / "model.pt"
        os.mkfifo(path)
        job.ready()
        torch.save(job.model().state_dict(), path)
    job.train()
