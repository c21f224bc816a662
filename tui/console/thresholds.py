"""The option ``--rules FILE``: thresholds other than the catalogue's."""

from __future__ import annotations

from pathlib import Path

from .errors import UsageError


def thresholds(file: str | None) -> dict[str, dict[str, float]]:
    """The thresholds that the file changes: rule id → threshold name → value.

    Raises:
        UsageError: when it cannot be used.
    """
    if file is None:
        return {}
    from ...rules.settings import SettingsError, load

    try:
        return load(Path(file))
    except SettingsError as error:
        raise UsageError(str(error)) from error
