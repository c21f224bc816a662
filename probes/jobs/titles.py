"""Titles: what processes wrote over their command line, and often over their environment too.

Ray, vLLM, SGLang and whatever else uses setproctitle do so. What is left to tell who they are is the title.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

OVER_ENVIRONMENT = "a title was written over its environment"
_ENGINES = ("vllm::", "sglang::")
"""Of these it is known what the coordinates in a title mean."""
_COORDINATE = r"_(DP|PP|PCP|TP|EP|DCP)([0-9]{1,4})(?=_|$)"
_OUTERMOST_FIRST = ("DP", "PP", "PCP", "TP")
"""As these engines number their ranks: of neighbors in number the last differs. Experts have no number of
their own."""
_RAY = "ray::"
_LOG_OF_RAY = r"/worker-[0-9a-f]{8,64}-([0-9a-f]{8})-[0-9]{1,10}\.out"
_NO_JOB = "ffffffff"

_Coordinates = tuple[tuple[str, int], ...]


def title_stem(title: str) -> str:
    """The title without what tells one process from its likes: ``VLLM::Worker``, ``ray::Trainer``."""
    first = title.strip().split(" ", 1)[0].partition("(")[0]
    if first.startswith(_RAY):
        return _RAY + first.removeprefix(_RAY).partition(".")[0]
    return re.sub(_COORDINATE, "", first).rstrip(":")


def ranks_by_titles(titles: Mapping[int, str]) -> dict[int, int]:
    """Pid → rank, as far as the titles of the processes of one job tell it.

    One coordinate is the rank itself. Of several, how many there are of each must be seen: all of them here.
    """
    by_stem: dict[str, dict[int, _Coordinates]] = {}
    for pid, title in titles.items():
        found = _coordinates(title)
        if found:
            by_stem.setdefault(title_stem(title), {})[pid] = found
    nobody: dict[int, _Coordinates] = {}
    most = max(by_stem.values(), key=len, default=nobody)
    names = {tuple(name for name, _ in each) for each in most.values()}
    if len(names) != 1 or len(set(most.values())) != len(most):
        return {}
    numbers = {pid: [number for _, number in each] for pid, each in most.items()}
    sizes = [1 + max(column) for column in zip(*numbers.values(), strict=True)]
    if len(sizes) > 1 and _product(sizes) != len(numbers):
        return {}
    return {pid: _place(each, sizes) for pid, each in numbers.items()}


def job_of_ray_log(path: str) -> str | None:
    """The job of Ray for which a worker with this log file works; its environment may be gone."""
    found = re.search(_LOG_OF_RAY, path)
    return found[1] if found and found[1] != _NO_JOB else None


def _coordinates(title: str) -> _Coordinates:
    if not title.casefold().startswith(_ENGINES):
        return ()
    found = {name: int(number) for name, number in re.findall(_COORDINATE, title)}
    return tuple((name, found[name]) for name in _OUTERMOST_FIRST if name in found)


def _place(numbers: list[int], sizes: list[int]) -> int:
    place = 0
    for number, size in zip(numbers, sizes, strict=True):
        place = place * size + number
    return place


def _product(sizes: list[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product
