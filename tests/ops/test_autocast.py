"""torch.autocast("neuron") follows PyTorch's CUDA lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import torch_neuron_sim
from torch_neuron_sim import neuron

F = torch.nn.functional

# On a 4 x 4 matrix.
LOWER: dict[str, Callable[[Tensor], Tensor]] = {
    "mm": lambda x: torch.mm(x, x),
    "matmul": lambda x: x @ x,
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]),
    "mv": lambda x: x.mv(x[0]),
    "linear": lambda x: F.linear(x, x, x[0]),
    "conv1d": lambda x: F.conv1d(x[None], x[..., None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x[None, None], x[None, None]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "chain_matmul": lambda x: torch.chain_matmul(x, x, x),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x, x]),
    "prelu": lambda x: F.prelu(x, x[0, :1]),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(*[x[None, None]] * 3),
    "gru_cell": lambda x: torch.gru_cell(x, x, x.repeat(3, 1), x.repeat(3, 1)),
}
FULL: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": torch.exp,
    "log": lambda x: x.abs().log(),
    "pow": lambda x: x.pow(2),
    "rsqrt": lambda x: x.abs().rsqrt(),
    "norm": lambda x: x.norm(),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "sum": lambda x: x.sum(),
    "cumsum": lambda x: x.cumsum(0),
    "prod": lambda x: x.prod(),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "group_norm": lambda x: F.group_norm(x, 2),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x * 2),
    "nll_loss": lambda x: F.nll_loss(x, torch.arange(4, device=x.device)),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
    "kl_div": lambda x: F.kl_div(x, x, reduction="batchmean"),
    "softplus": F.softplus,
    "acos": lambda x: x.clamp(-1, 1).acos(),
    "dist": lambda x: torch.dist(x, x),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.5)),
}
UNLISTED: dict[str, Callable[[Tensor], Tensor]] = {
    "add": lambda x: x + 1,
    "relu": torch.relu,
    "gelu": F.gelu,
    "max_pool2d": lambda x: F.max_pool2d(x[None], 2),
    "mean": lambda x: x.mean(),
    "sigmoid": torch.sigmoid,
    "fallback": torch.lgamma,
}


@pytest.mark.parametrize("name", LOWER)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_products_run_in_the_lower_precision(name: str, dtype: torch.dtype) -> None:
    x = torch.randn(4, 4)
    with torch.autocast("neuron", dtype=dtype):
        found = LOWER[name](x.to("neuron"))
    assert found.dtype == dtype
    # One rounding on the way in, and nothing cast again inside: the bits of the op in that dtype.
    assert torch.equal(found.cpu(), LOWER[name](x.to(dtype)))


@pytest.mark.parametrize("name", FULL)
def test_sensitive_ops_run_in_float32(name: str) -> None:
    x = torch.rand(4, 4).to(torch.bfloat16)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        found = FULL[name](x.to("neuron"))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.cpu(), FULL[name](x.float()))


@pytest.mark.parametrize("name", UNLISTED)
def test_other_ops_keep_their_dtype(name: str) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.rand(4, 4).to(dtype)
        with torch.autocast("neuron", dtype=torch.bfloat16):
            found = UNLISTED[name](x.to("neuron"))
        assert found.dtype == dtype
        assert torch.equal(found.cpu(), UNLISTED[name](x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: torch.cat([x, y]),
        lambda x, y: torch.stack([x, y]),
        lambda x, y: torch.addcmul(x, y, y),
        lambda x, y: torch.atan2(x, y),
        lambda x, y: torch.bilinear(x, y, x[None].expand(4, 4, 4), None),
        lambda x, y: torch.dot(x[0], y[0]),
        lambda x, y: torch.cross(x[:, :3], y[:, :3], dim=1),
        lambda x, y: F.grid_sample(x[None, None], y[None, :, :2, None].expand(1, 4, 2, 2)),
        lambda x, y: torch.index_put(x, (torch.tensor([0], device=x.device),), y[0]),
        lambda x, y: torch.scatter_add(x, 0, torch.zeros(4, 4, dtype=torch.long, device=x.device), y),
        lambda x, y: torch.tensordot(x, y),
    ],
)
def test_mixed_arguments_take_the_widest_dtype(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    x, y = torch.rand(4, 4, device="neuron"), torch.rand(4, 4, device="neuron").bfloat16()
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert function(x, y).dtype == torch.float32
        assert function(y, y).dtype == torch.bfloat16


def test_default_dtype_is_float16() -> None:
    x = torch.randn(2, 2, device="neuron")
    with torch.autocast("neuron"):
        assert torch.is_autocast_enabled("neuron")
        assert (x @ x).dtype == torch.float16 == torch.get_autocast_dtype("neuron")
    assert not torch.is_autocast_enabled("neuron")


def test_float32_switches_nothing_on() -> None:
    x = torch.randn(4, 4, device="neuron")
    assert neuron.get_amp_supported_dtype() == [torch.float32, torch.float16, torch.bfloat16]
    with torch.autocast("neuron", dtype=torch.float32):
        assert (x @ x).dtype == torch.float32
    with pytest.warns(UserWarning, match="autocast"), torch.autocast("neuron", dtype=torch.int8):
        assert (x @ x).dtype == torch.float32


def test_nesting_and_disabling() -> None:
    x = torch.randn(4, 4, device="neuron")
    with torch.autocast("neuron", dtype=torch.bfloat16):
        low = x @ x
        with torch.autocast("neuron", enabled=False):
            assert (x @ x).dtype == torch.float32
            assert (low @ low).dtype == torch.bfloat16
            with torch.autocast("neuron", dtype=torch.float16):
                assert (x @ x).dtype == torch.float16
            assert (x @ x).dtype == torch.float32
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32


def test_each_device_type_has_its_own_switch() -> None:
    x, y = torch.randn(4, 4), torch.randn(4, 4, device="neuron")
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (y @ y).dtype == torch.float32


def test_float64_and_integers_are_left_alone() -> None:
    with torch.autocast("neuron", dtype=torch.bfloat16):
        for dtype in (torch.float64, torch.int32):
            x = torch.ones(4, 4, dtype=dtype, device="neuron")
            assert (x @ x).dtype == dtype
        assert torch.ones(3, dtype=torch.float64, device="neuron").softmax(0).dtype == torch.float64


def test_explicit_dtype_of_an_op_wins() -> None:
    x = torch.rand(4, 4, device="neuron").bfloat16()
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert x.sum(dtype=torch.bfloat16).dtype == torch.bfloat16
        assert x.softmax(0, dtype=torch.float16).dtype == torch.float16
        assert torch.mm(x.float(), x.float(), out=torch.empty(4, 4, device="neuron")).dtype == torch.float32


def test_binary_cross_entropy_is_banned() -> None:
    p = torch.rand(3, device="neuron")
    with torch.autocast("neuron"), pytest.raises(RuntimeError, match="unsafe to autocast"):
        F.binary_cross_entropy(p, p)
    with torch.autocast("neuron", enabled=False):
        assert F.binary_cross_entropy(p, p).dtype == torch.float32


def test_gradients_have_the_dtype_of_their_tensors() -> None:
    weight = torch.randn(4, 4, device="neuron", requires_grad=True)
    x = torch.randn(3, 4, device="neuron")
    with torch.autocast("neuron", dtype=torch.bfloat16):
        loss = F.linear(F.linear(x, weight), weight).sum()
    assert loss.dtype == torch.float32
    loss.backward()
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    # The same on CPU by hand: one cast of the weight serves both layers.
    leaf = weight.detach().cpu().requires_grad_()
    low = leaf.to(torch.bfloat16)
    F.linear(F.linear(x.cpu().to(torch.bfloat16), low), low).float().sum().backward()
    assert torch.equal(weight.grad.cpu(), leaf.grad)


def test_a_weight_is_cast_once_within_a_block() -> None:
    weight, x = torch.randn(4, 4, device="neuron", requires_grad=True), torch.randn(4, 4, device="neuron")
    for cached, casts in ((True, 1 + 3), (False, 3 + 3)):
        with torch.autocast("neuron", dtype=torch.bfloat16, cache_enabled=cached), torch_neuron_sim.record() as report:
            for _ in range(3):
                x @ weight
        assert {row.op: row.calls for row in report.rows}["aten::copy_"] == casts


def test_custom_functions() -> None:
    seen: list[torch.dtype] = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="neuron", cast_inputs=torch.float16)
        def forward(ctx: Any, x: Tensor) -> Tensor:
            seen.extend((x.dtype, (x @ x).dtype))
            return x.clone()

        @staticmethod
        @torch.amp.custom_bwd(device_type="neuron")
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            seen.append((gradient @ gradient).dtype)
            return gradient

    x = torch.randn(3, 3, device="neuron", requires_grad=True)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        Product.apply(x * 1).sum().backward()
    assert seen == [torch.float16, torch.float16, torch.float16]


def test_grad_scaler() -> None:
    weight = torch.ones(2, device="neuron", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("neuron", init_scale=4.0, growth_interval=1)
    for factor, expected in ((1.0, 0.5), (float("inf"), 0.5), (1.0, 0.0)):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [expected] * 2
    assert scaler.get_scale() == 8.0
