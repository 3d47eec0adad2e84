"""safetensors writes neuron tensors and reads on the host: its own code lists the devices that it reads to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

pytestmark = pytest.mark.ecosystem


@pytest.fixture(scope="module")
def safetensors(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("safetensors.torch")


def tensors() -> dict[str, Tensor]:
    torch.manual_seed(0)
    return {
        "float": torch.randn(3, 4).to("neuron"),
        "half": torch.randn(5).to("neuron:1", torch.bfloat16),
        "whole": torch.arange(4, device="neuron"),
        "empty": torch.empty(0, 2, device="neuron"),
    }


def test_file_and_bytes_hold_the_values(safetensors: ModuleType, tmp_path: Path) -> None:
    written = tensors()
    safetensors.save_file(written, tmp_path / "t.safetensors")
    for read in (safetensors.load_file(tmp_path / "t.safetensors"), safetensors.load(safetensors.save(written))):
        assert read.keys() == written.keys()
        for name, tensor in written.items():
            assert read[name].device.type == "cpu"
            assert read[name].dtype == tensor.dtype
            assert torch.equal(read[name], tensor.cpu())


def test_model_is_written_from_the_device_and_read_back_into_it(safetensors: ModuleType, tmp_path: Path) -> None:
    one, other = (nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)).to("neuron:1") for _ in range(2))
    for model in (one, other):
        model[1].weight = model[0].weight  # written once, read into both
    safetensors.save_model(one, str(tmp_path / "m.safetensors"))
    missing, unexpected = safetensors.load_model(other, tmp_path / "m.safetensors")
    assert not missing and not unexpected
    assert other[1].weight is other[0].weight
    assert other[0].weight.device == torch.device("neuron:1")
    assert torch.equal(other[0].weight, one[0].weight)


def test_shared_and_strided_tensors_are_refused_as_on_cpu(safetensors: ModuleType, tmp_path: Path) -> None:
    x = torch.ones(2, 3, device="neuron")
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save_file({"a": x, "b": x}, tmp_path / "t")
    with pytest.raises(ValueError, match="non contiguous"):
        safetensors.save_file({"a": x.t()}, tmp_path / "t")


def test_it_does_not_read_to_the_device_but_the_move_after_it_does(safetensors: ModuleType, tmp_path: Path) -> None:
    """If the first part fails, safetensors has learned the device: docs/ecosystem.md is to be changed."""
    safetensors.save_file({"a": torch.arange(3.0, device="neuron")}, tmp_path / "t")
    with pytest.raises(Exception, match="device neuron is invalid"):
        safetensors.load_file(tmp_path / "t", device="neuron")
    assert safetensors.load_file(tmp_path / "t")["a"].to("neuron").tolist() == [0, 1, 2]
