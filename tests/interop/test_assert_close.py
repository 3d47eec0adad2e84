"""torch.testing.assert_close on neuron tensors: the verdicts and texts that it has for CPU tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.testing import assert_close

pytestmark = pytest.mark.filterwarnings("ignore::torch_neuron_sim.FallbackWarning")

ONES = torch.ones(2, 3)
CHANGED = ONES + torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1e-9]])
NAN = torch.tensor([1.0, float("nan"), float("inf")])

EQUAL: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "floats": (ONES, ONES + 1e-7, {}),
    "tolerances": (ONES, ONES * 1.5, {"rtol": 1, "atol": 0}),
    "nan": (NAN, NAN.clone(), {"equal_nan": True}),
    "integers": (torch.arange(4), torch.arange(4), {}),
    "complex": (ONES + 1j, ONES + 1j, {}),
    "bfloat16": (ONES.bfloat16(), ONES.bfloat16(), {}),
    "empty": (torch.empty(0, 2), torch.empty(0, 2), {}),
    "strides": (ONES, ONES.t().contiguous().t(), {}),
    "dtypes": (ONES, ONES.half(), {"check_dtype": False}),
    "nested": ({"a": [ONES, 3]}, {"a": [ONES.clone(), 3]}, {}),
}
DIFFERENT: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "floats": (ONES, CHANGED, {}),
    "nan": (NAN, NAN.clone(), {}),
    "integers": (torch.arange(4), torch.arange(4).flip(0), {}),
    "bool": (torch.tensor([True, False]), torch.tensor([True, True]), {}),
    "complex": (ONES + 1j, ONES + 2j, {}),
    "bfloat16": (ONES.bfloat16(), CHANGED.bfloat16(), {}),
    "a scalar": (torch.tensor(1.0), torch.tensor(2.0), {}),
    "shapes": (ONES, ONES.t(), {}),
    "dtypes": (ONES, ONES.half(), {}),
    "strides": (ONES, ONES.t().contiguous().t(), {"check_stride": True}),
    "nested": ({"a": [ONES, 3]}, {"a": [CHANGED, 3]}, {}),
    "message": (ONES, CHANGED, {"msg": lambda text: f"here: {text}"}),
}


def on(device: str, value: Any) -> Any:
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), value)


@pytest.mark.parametrize("case", EQUAL)
def test_passes_as_on_cpu(case: str) -> None:
    actual, expected, options = EQUAL[case]
    assert_close(actual, expected, **options)
    assert_close(on("neuron", actual), on("neuron", expected), **options)
    assert_close(on("neuron", actual), expected, check_device=False, **options)


@pytest.mark.parametrize("case", DIFFERENT)
def test_fails_with_the_text_of_cpu(case: str) -> None:
    actual, expected, options = DIFFERENT[case]
    texts = []
    for device in ("cpu", "neuron"):
        with pytest.raises(AssertionError) as caught:
            assert_close(on(device, actual), on(device, expected), **options)
        texts.append(str(caught.value))
    assert texts[1] == texts[0]


@pytest.mark.filterwarnings("ignore::torch_neuron_sim.Float64Warning")
def test_float64_is_compared_as_the_device_computes_it() -> None:
    assert_close(on("neuron", ONES.double()), on("neuron", ONES.double() + 1e-9))
    with pytest.raises(AssertionError, match="1 / 6"):
        assert_close(on("neuron", ONES.double()), on("neuron", CHANGED.double()))


def test_device_is_part_of_the_comparison() -> None:
    x = torch.ones(2, device="neuron")
    with pytest.raises(AssertionError, match=r"'device' do not match: neuron:0 != cpu"):
        assert_close(x, x.cpu())
    with pytest.raises(AssertionError, match=r"'device' do not match: neuron:0 != neuron:1"):
        assert_close(x, x.to("neuron:1"))
    assert_close(x, x.to("neuron:1"), check_device=False)
