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
    """Finds only that module, by asking all the other finders, and waits for its import."""

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
        if spec is not None:
            call_after_import(spec, self._done)
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


def call_after_import(spec: ModuleSpec, then: Callable[[], object]) -> None:
    """Call something when the module of that spec has been imported, by its own loader.

    One method of the loader is replaced until it has been called; a loader with no place for that is
    left as it is, and nothing gets called.

    Args:
        spec: as found.
        then: must not raise; what it raises would reach whoever imports the module.
    """
    loader: Any = spec.loader
    run = getattr(loader, "exec_module", None)
    if run is None or isinstance(loader, type):
        return

    def exec_module(module: ModuleType) -> None:
        own: dict[str, Any] = loader.__dict__
        own.pop("exec_module", None)  # with all that wait for it: each calls the next
        run(module)
        # Whole, though Python says so only when this returns: who asks now must get the same answer.
        spec._initializing = False  # type: ignore[attr-defined]
        then()

    try:
        loader.exec_module = exec_module
    except AttributeError:
        return
