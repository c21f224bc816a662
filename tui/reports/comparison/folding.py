"""What changed alike on all GPUs, or all links of a kind, is told once; who stands out is told alone."""

from __future__ import annotations

from collections.abc import Sequence

from .rows import Row, row

_NAMES = {"GPU": "GPUs", "pcie": "PCIe", "nvlink": "NVLink"}


def folded(rows: Sequence[Row], tolerance: float) -> list[Row]:
    """The rows as they are shown: for each number of a group its mean, then those that are not like it."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for each in rows:
        if each.group:
            groups.setdefault((each.group, each.signal), []).append(each)
    means = {key: _mean(members, tolerance) for key, members in groups.items()}
    kept = [each for each in rows if not each.group]
    kept += [each for each in means.values() if each is not None]
    kept += [
        each
        for each in rows
        if each.group and _stands_out(each, means[(each.group, each.signal)], tolerance)
    ]
    return kept


def _mean(members: Sequence[Row], tolerance: float) -> Row | None:
    """Of the members that both sides know; ``None`` of a single one."""
    known = [
        (each.a_value, each.b_value)
        for each in members
        if each.a_value is not None and each.b_value is not None
    ]
    if len(members) < 2 or not known:
        return None
    first = members[0]
    name = _NAMES.get(first.group, first.group)
    return row(
        f"{name}, mean of {len(known)}",
        first.signal,
        first.label,
        first.unit,
        sum(a for a, _ in known) / len(known),
        sum(b for _, b in known) / len(known),
        tolerance=tolerance,
    )


def _stands_out(each: Row, mean: Row | None, tolerance: float) -> bool:
    if mean is None or each.judged:
        return True
    if each.change_ratio is None or mean.change_ratio is None:
        return False
    return abs(each.change_ratio - mean.change_ratio) > tolerance
