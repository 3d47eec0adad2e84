"""Does something to a module right after its first import, wherever that happens, without importing it here.

``torch._dynamo`` takes as long to import as torch itself, so what it is to be told waits until a program uses it.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], None]


def when_imported(name: str, action: Action) -> None:
    """Calls ``action(module)`` once: now if the module ``name`` is imported already, else at the end of its import."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _finder.pending[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder(MetaPathFinder):
    """Stands first in sys.meta_path while something is pending, and finds what the finders behind it find."""

    def __init__(self) -> None:
        self.pending: dict[str, Action] = {}
        self._looking_for = ""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.pending or fullname == self._looking_for:
            return None
        self._looking_for = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking_for = ""
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Loads as another loader does, then acts. The module keeps the other one as its loader."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        action = _finder.pending.pop(module.__spec__.name)
        if not _finder.pending:
            sys.meta_path.remove(_finder)
        action(module)


_finder = _Finder()
