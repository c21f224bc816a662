"""Do something when a module has been imported, without importing it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def after_import(name: str, function: Callable[[], object]) -> None:
    """Call it once: now if the module is there and whole, otherwise as soon as it is.

    Args:
        name: of a top-level module.
        function: must not raise; what it raises would reach whoever imports the module.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        function()
    else:
        sys.meta_path.insert(0, _Finder(name, function))


class _Finder:
    """Finds only that module, by asking all the other finders, and gives it a loader of ours."""

    def __init__(self, name: str, function: Callable[[], object]) -> None:
        self._name = name
        self._function = function
        self._asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name or self._asking:
            return None
        self._asking = True  # another finder may ask the whole list again
        try:
            spec = self._from_others(fullname, path, target)
        finally:
            self._asking = False
        if spec is None or spec.loader is None:
            return None
        ours: Any = _Loader(spec.loader, self._done)
        spec.loader = ours
        return spec

    def _done(self) -> None:
        # Only now: found does not mean imported, for many only ask whether it is there.
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._function()

    def _from_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in tuple(sys.meta_path):
            if finder is not self:
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    return spec
        return None


class _Loader:
    """The module's own loader, and then the function."""

    def __init__(self, loader: Any, function: Callable[[], object]) -> None:
        self._loader = loader
        self._function = function

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        # What looks at the module later (inspect, pickle, pkgutil) must find its own loader.
        module.__loader__ = self._loader
        if spec is not None:
            spec.loader = self._loader
        self._loader.exec_module(module)
        if spec is not None:
            spec._initializing = False  # type: ignore[attr-defined]
        self._function()
