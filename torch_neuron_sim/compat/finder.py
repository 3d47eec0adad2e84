"""The import machinery of the alias: where ``torch_neuronx`` and its submodules come from."""

import importlib
import importlib.util
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from torch_neuron_sim.compat.surface import NAME, SUBMODULES

_TOP_LEVEL = Path(__file__).with_name("torch_neuronx.py")


class AliasFinder(MetaPathFinder):
    """Finds ``torch_neuronx``: a module of its own, whose submodules are the simulator's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == NAME:
            spec = importlib.util.spec_from_file_location(NAME, _TOP_LEVEL)
            assert spec is not None
            # A package without a folder: the path finders see nothing in it, so its submodules are looked for here.
            spec.submodule_search_locations = []
            return spec
        parent, _, name = fullname.rpartition(".")
        if parent != NAME or name not in SUBMODULES:
            return None
        found = importlib.util.find_spec(SUBMODULES[name])
        assert found is not None
        return ModuleSpec(fullname, _SameModule(SUBMODULES[name]), origin=found.origin)


class _SameModule(Loader):
    """Gives a second name to a module, which stays the same object with its own spec."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec
