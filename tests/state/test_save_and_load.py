"""torch.save and torch.load: where tensors come back, and with which values."""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool, torch.float8_e5m2,
)  # fmt: skip

# What is saved on -> map_location -> where it comes back. A callable gets the storage (on the CPU) and its old place.
PLACES: list[tuple[str, Any, str]] = [
    ("cpu", None, "cpu"),
    ("cpu", "neuron", "neuron:0"),
    ("cpu", "neuron:1", "neuron:1"),
    ("cpu", torch.device("neuron", 1), "neuron:1"),
    ("cpu", {"cpu": "neuron:1"}, "neuron:1"),
    ("cpu", lambda storage, place: storage.to(device="neuron:1"), "neuron:1"),
    ("neuron:0", None, "neuron:0"),
    ("neuron:1", None, "neuron:1"),
    ("neuron:1", "cpu", "cpu"),
    ("neuron:1", "neuron", "neuron:0"),
    ("neuron:0", "neuron:1", "neuron:1"),
    ("neuron:1", torch.device("cpu"), "cpu"),
    ("neuron:1", torch.device("neuron:0"), "neuron:0"),
    ("neuron:0", {"neuron:0": "neuron:1"}, "neuron:1"),
    ("neuron:1", {"neuron:1": "cpu"}, "cpu"),
    ("neuron:1", {"neuron:0": "cpu"}, "neuron:1"),
    ("neuron:1", lambda storage, place: storage if place == "neuron:1" else None, "cpu"),
    ("neuron:1", lambda storage, place: None, "neuron:1"),
    ("neuron:0", "meta", "meta"),
]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("saved", "map_location", "loaded"), PLACES, ids=[f"{s}-{m}-{d}" for s, m, d in PLACES])
def test_map_location(
    reload: Callable[..., Any], saved: str, map_location: Any, loaded: str, weights_only: bool
) -> None:
    values: dict[str, Any] = {"a": torch.arange(6.0).view(2, 3), "list": [torch.tensor([1, 2, 3])]}
    placed: dict[str, Any] = {"a": values["a"].to(saved), "list": [values["list"][0].to(saved)]}
    back = reload(placed, map_location=map_location, weights_only=weights_only)
    for actual, expected in ((back["a"], values["a"]), (back["list"][0], values["list"][0])):
        assert actual.device == torch.device(loaded)
        assert actual.shape == expected.shape
        assert loaded == "meta" or torch.equal(actual.cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_keeps_its_bits(reload: Callable[..., Any], dtype: torch.dtype) -> None:
    values = torch.tensor([0.0, 1.0, -1.5, 3.0]).to(torch.float32 if dtype.is_complex else dtype).to(dtype)
    if dtype == torch.uint8:
        values = torch.tensor([0, 1, 255, 3], dtype=dtype)
    there = reload(values.to("neuron"), weights_only=True)
    assert there.dtype == dtype
    assert there.device.type == "neuron"
    assert torch.equal(there.cpu().view(torch.uint8), values.view(torch.uint8))


@pytest.mark.parametrize("device", ["cpu", "neuron"])
def test_views_of_one_storage_share_it_again(reload: Callable[..., Any], device: str) -> None:
    base = torch.arange(12.0).to("neuron").view(3, 4)
    whole, part, turned = reload([base, base[1:, 2], base.t()], map_location=device)
    assert torch.equal(part.cpu(), torch.tensor([6.0, 10.0]))
    part.zero_()
    assert whole.cpu()[1:, 2].tolist() == [0, 0]
    assert turned.stride() == (1, 4)
    assert turned.cpu()[2].tolist() == [2, 0, 0]


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_zero_size_and_zero_dimensions(reload: Callable[..., Any], shape: tuple[int, ...]) -> None:
    back = reload(torch.ones(shape, device="neuron"), weights_only=True)
    assert back.shape == shape
    assert back.device.type == "neuron"
    assert torch.equal(back.cpu(), torch.ones(shape))


@st.composite
def views(draw: st.DrawFn) -> Tensor:
    """A strided view, on the CPU, of a storage that may hold more."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    base = (
        torch.arange(math.prod(sizes)).view(sizes).to(draw(st.sampled_from([torch.float32, torch.int16, torch.bool])))
    )
    for dimension, size in enumerate(sizes):
        start, step = draw(st.integers(0, size)), draw(st.integers(1, 3))
        base = base[(slice(None),) * dimension + (slice(start, None, step),)]
    return base.permute(draw(st.permutations(range(len(sizes)))))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(view=views())
def test_any_view_keeps_geometry_and_values(reload: Callable[..., Any], view: Tensor) -> None:
    there = torch.empty(0, dtype=view.dtype).set_(view.untyped_storage()).to("neuron")
    there = there.as_strided(view.shape, view.stride(), view.storage_offset())
    for back in (reload(there), reload(view, map_location="neuron"), copy.deepcopy(there), pickled(there)):
        assert back.device.type == "neuron"
        assert (back.stride(), back.storage_offset()) == (view.stride(), view.storage_offset())
        assert torch.equal(back.cpu(), view)


def pickled(tensor: Tensor) -> Tensor:
    made: Tensor = pickle.loads(pickle.dumps(tensor))
    return made


def test_small_view_saves_its_whole_storage_as_on_cpu() -> None:
    sizes = []
    for device in ("cpu", "neuron"):
        buffer = io.BytesIO()
        torch.save(torch.zeros(10_000, device=device)[:2], buffer)
        sizes.append(len(buffer.getvalue()))
    assert sizes[0] > 40_000
    assert abs(sizes[0] - sizes[1]) < 256


def test_parameters_keep_class_and_gradient_flag(reload: Callable[..., Any]) -> None:
    back = reload(nn.Parameter(torch.ones(3, device="neuron"), requires_grad=False), weights_only=True)
    assert isinstance(back, nn.Parameter)
    assert not back.requires_grad
    assert reload(torch.ones(3, device="neuron", requires_grad=True)).requires_grad


def test_conjugate_and_negative_views_keep_their_values(reload: Callable[..., Any]) -> None:
    value = torch.tensor([1 + 2j, 3 - 4j]).to("neuron")
    assert torch.equal(reload(value.conj()).cpu(), torch.tensor([1 - 2j, 3 + 4j]))
    assert torch.equal(reload(value.conj().imag).cpu(), torch.tensor([-2.0, 4.0]))


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_both_file_formats(tmp_path: Path, zipped: bool, weights_only: bool) -> None:
    file = tmp_path / "tensors.pt"
    base = torch.arange(8).to("neuron:1")
    torch.save({"base": base, "view": base[2:4]}, file, _use_new_zipfile_serialization=zipped)
    back = torch.load(file, weights_only=weights_only)
    assert back["view"].device == torch.device("neuron:1")
    assert back["view"].tolist() == [2, 3]
    assert back["view"].untyped_storage().data_ptr() == back["base"].untyped_storage().data_ptr()


def test_file_can_be_mapped(tmp_path: Path) -> None:
    torch.save(torch.arange(1000.0).to("neuron"), tmp_path / "tensor.pt")
    back = torch.load(tmp_path / "tensor.pt", mmap=True, map_location="cpu", weights_only=True)
    assert torch.equal(back, torch.arange(1000.0))


def test_device_context_is_where_tensors_come_back(reload: Callable[..., Any]) -> None:
    with torch.device("neuron:1"):
        assert reload(torch.ones(2, device="cpu")).device == torch.device("cpu")
    torch.neuron.set_device(1)
    assert reload(torch.ones(2, device="cpu"), map_location="neuron").device == torch.device("neuron:1")


def test_file_from_the_device_loads_where_there_is_none(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    file = tmp_path / "model.pt"
    model = nn.Linear(3, 2).to("neuron:1")
    torch.save(model.state_dict(), file)
    done = run_python(
        "import sys, torch\n"
        f"state = torch.load({str(file)!r}, map_location='cpu', weights_only=True)\n"
        "assert 'torch_neuron_sim' not in sys.modules\n"
        "print(state['weight'].tolist())\n",
        env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(model.weight.tolist())


def test_file_names_a_device_that_this_machine_lacks(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    torch.save(torch.ones(2, device="neuron:1"), tmp_path / "tensor.pt")
    done = run_python(
        f"import torch, torch_neuron_sim; torch.load({str(tmp_path / 'tensor.pt')!r})",
        env={"TORCH_NEURON_SIM_DEVICES": "1"},
    )
    assert done.returncode == 1
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("RuntimeError: Attempting to deserialize object on NEURON device 1")
    assert "map_location" in done.stderr
