"""Brings the probe into a Python that runs without gputop, and only where torch gets imported.

Until then all it does is one comparison for each module that is imported.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # spelled so because importing typing costs more than all of this
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_INPROCESS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROOT = os.path.dirname(os.path.dirname(_INPROCESS))
PROBE = "gputop.probes.inprocess"
_STUBS = {
    "gputop": os.path.join(_ROOT, "__init__.py"),
    "gputop.probes": os.path.join(_ROOT, "probes", "__init__.py"),
}
"""What makes ``import gputop`` work where it is not installed: two files that any Python can run."""
_OLDEST_FOR_ALL_OF_GPUTOP = (3, 11)
"""An older Python gets the stub whatever it might find."""


class Finder:
    """Finds the probe beside this file, and tells when torch has been imported."""

    def __init__(self) -> None:
        self._looking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As ``sys.meta_path`` asks for it."""
        if name == "torch":
            spec = self._found_by_others(name, path, target)
            if spec is not None:
                _call_after_import(spec)
            return spec
        if name == PROBE:
            # The one that belongs to the monitor, also where the job has a gputop of its own.
            return _spec_of(name, os.path.join(_INPROCESS, "__init__.py"), [_INPROCESS])
        if name in _STUBS:
            return self._stub(name, path, target)
        return None

    def _stub(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        if sys.version_info >= _OLDEST_FOR_ALL_OF_GPUTOP:
            spec = self._found_by_others(name, path, target)
            # Any folder of that name in the current directory looks like a package without a file.
            if spec is not None and spec.origin is not None:
                return spec
        return _spec_of(name, _STUBS[name], [])

    def _found_by_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        if self._looking:  # another finder that looks through all of them has come back to us
            return None
        self._looking = True
        try:
            for other in tuple(sys.meta_path):
                find = None if other is self else getattr(other, "find_spec", None)
                spec: ModuleSpec | None = find(name, path, target) if find else None
                if spec is not None:
                    return spec
        finally:
            self._looking = False
        return None


def install() -> None:
    """From now on torch is waited for, and the probe can be found."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, Finder())


def _spec_of(name: str, file: str, folders: list[str]) -> ModuleSpec:
    from importlib.machinery import ModuleSpec, SourceFileLoader

    spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file, is_package=True)
    spec.submodule_search_locations = folders
    spec.has_location = True
    return spec


def _call_after_import(spec: ModuleSpec) -> None:
    try:
        probe_module("after_import").call_after_import(spec, _torch_is_there)
    except Exception:  # the job runs on without a probe, whatever is wrong with it
        if os.environ.get("GPUTOP_DEBUG"):
            raise


def _torch_is_there() -> None:
    try:
        probe_module("arrival").torch_arrived()
    except Exception:
        if os.environ.get("GPUTOP_DEBUG"):
            raise


def attach_now() -> None:
    """Start the probe, in a process that runs already."""
    install()
    probe_module("api").attach()


def probe_module(name: str) -> ModuleType:
    """A module of the probe that belongs to this shim, whatever ``gputop`` means in this Python."""
    from importlib import import_module
    from importlib.util import module_from_spec

    if PROBE not in sys.modules:
        spec = _spec_of(PROBE, os.path.join(_INPROCESS, "__init__.py"), [_INPROCESS])
        sys.modules[PROBE] = module = module_from_spec(spec)
        spec.loader.exec_module(module)  # type: ignore[union-attr]
    return import_module(f"{PROBE}.{name}")
