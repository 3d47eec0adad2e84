"""Libraries that build on PyTorch: imported when a test of theirs runs, never while tests are collected.

``library("transformers")`` imports one, where the alias is installed by which it finds the device, and no network is.
"""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim.compat import finder, install_alias

Library = Callable[[str], ModuleType]

# PyPI's torchvision is built for CUDA: beside the CPU build of torch its extension does not load, and its import fails
# for lack of these two operators. Nothing here calls them.
_TORCHVISION_OPERATORS = ("nms", "qnms")


def _make_torchvision_importable() -> None:
    try:
        importlib.import_module("torchvision")
        return
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    definitions = torch.library.Library("torchvision", "DEF")
    for name in _TORCHVISION_OPERATORS:
        definitions.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    importlib.import_module("torchvision")
    _made.append(definitions)  # its operators go with it


_made: list[torch.library.Library] = []


def _refuse(self: socket.socket, address: Any) -> None:
    raise AssertionError(f"a test wants to connect to {address}")


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    before = list(sys.meta_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        patch.setattr(socket.socket, "connect", _refuse)
        install_alias()  # accelerate and transformers take the device only where they find torch_neuronx
        _make_torchvision_importable()
        yield importlib.import_module
    sys.meta_path[:] = [
        entry for entry in sys.meta_path if entry in before or not isinstance(entry, finder.AliasFinder)
    ]
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_neuronx"]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def _silent_fallbacks() -> Iterator[None]:
    """What falls back is not the subject here."""
    with torch_neuron_sim.fallback_policy("silent"):
        yield


@pytest.fixture
def devices_of() -> Callable[[torch.nn.Module], set[str]]:
    """The devices of a module's parameters and buffers."""

    def devices(module: torch.nn.Module) -> set[str]:
        return {str(tensor.device) for tensor in (*module.parameters(), *module.buffers())}

    return devices


@pytest.fixture
def bits() -> Callable[[Any], Any]:
    """``bits(x)``: its tensors as bytes on the host, so that ``==`` between two results means the same bits."""

    def convert(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            host = value.detach().cpu().contiguous()
            return host.dtype, tuple(host.shape), host.flatten().view(torch.uint8).numpy().tobytes()
        if isinstance(value, dict):
            return {key: convert(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [convert(each) for each in value]
        return value

    return convert
