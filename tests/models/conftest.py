"""Gives the tests of this folder the zoo and the comparison: pytest does not put the folder on the import path."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import torch_neuron_sim

_FOLDER = Path(__file__).parent


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and relative imports look there
    spec.loader.exec_module(module)
    return module


_zoo = _load("neuron_test_zoo", _FOLDER / "zoo" / "__init__.py")
_compare = _load("neuron_test_compare", _FOLDER / "compare.py")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "model_name" in metafunc.fixturenames:
        metafunc.parametrize("model_name", list(_zoo.CASES))


@pytest.fixture(scope="session")
def zoo() -> ModuleType:
    return _zoo


@pytest.fixture(scope="session")
def compare() -> ModuleType:
    return _compare


@pytest.fixture(autouse=True)
def _silent_fallbacks() -> Iterator[None]:
    """What falls back is not the subject here."""
    with torch_neuron_sim.fallback_policy("silent"):
        yield
