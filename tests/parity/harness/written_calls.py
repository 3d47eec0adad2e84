"""Calls of native operators that no sample of PyTorch's databases reaches."""

from __future__ import annotations

from typing import Any

import torch

from harness.call import Call


def _floats(*shape: int) -> torch.Tensor:
    """Small numbers of both signs, that every dtype holds or rounds in its own way."""
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float32) * 0.375 % 3 - 1).reshape(shape)


def _integers(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape) % 5


def _grouped_mm() -> list[Call]:
    offsets = torch.tensor([16, 32], dtype=torch.int32)
    return [Call("aten::_grouped_mm", (_floats(32, 16), _floats(2, 16, 16), offsets), {})]


def _batch_norm() -> list[Call]:
    x, channel, count = _floats(2, 3, 4), _floats(3), torch.tensor([8], dtype=torch.int32)
    spread = channel.abs() + 1
    return [
        Call("aten::batch_norm_stats", (x, 1e-5), {}),
        Call("aten::batch_norm_elemt", (x, channel, channel, channel, spread, 1e-5), {}),
        Call("aten::batch_norm_elemt.out", (x, channel, channel, channel, spread, 1e-5), {"out": torch.empty(2, 3, 4)}),
        Call(
            "aten::batch_norm_gather_stats_with_counts",
            (x, _floats(1, 3), _floats(1, 3).abs() + 1, _floats(3), _floats(3), 0.1, 1e-5, torch.tensor([8.0])),
            {},
        ),
        Call("aten::batch_norm_backward_reduce", (x, x, channel, spread, channel, True, True, True), {}),
        Call("aten::batch_norm_backward_elemt", (x, x, channel, spread, channel, channel, channel, count), {}),
    ]


def _attention() -> list[Call]:
    q = _floats(1, 2, 4, 8)
    operator = torch.ops.aten._scaled_dot_product_fused_attention_overrideable
    made = operator(*(q.to("neuron") for _ in range(3)))
    output, logsumexp, cum_q, cum_k, max_q, max_k, seed, offset, _ = (
        value.cpu() if isinstance(value, torch.Tensor) else value for value in made
    )
    saved = (output, logsumexp, cum_q, cum_k, max_q, max_k, 0.0, False, seed, offset)
    heads = (_floats(2, 3, 8), _floats(2, 3, 8), _floats(2, 3, 8), 8, 2, _floats(24, 8), _floats(24))
    return [
        Call("aten::_scaled_dot_product_fused_attention_overrideable", (q, q, q), {}),
        Call(
            "aten::_scaled_dot_product_fused_attention_overrideable_backward",
            (q, q, q, q, None, [True, True, True, False], *saved),
            {},
        ),
        Call("aten::_native_multi_head_attention", (*heads, _floats(8, 8), _floats(8)), {}),
    ]


def _optimizer() -> list[Call]:
    options: dict[str, Any] = {
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.01,
        "eps": 1e-6,
        "amsgrad": False,
        "maximize": False,
    }
    steps = [torch.tensor(1.0)]
    lists = ([_floats(4)], [_floats(4)], [_floats(4)], [_floats(4).abs()], [], steps)
    return [
        Call("aten::_fused_adamw_", lists, {"lr": 0.1, **options}),
        Call("aten::_fused_adamw_.tensor_lr", lists, {"lr": torch.tensor(0.1), **options}),
    ]


def _shifts() -> list[Call]:
    calls = []
    for direction in ("left", "right"):
        name, x = f"aten::bitwise_{direction}_shift", _integers(3)
        calls += [
            Call(f"{name}.Scalar_Tensor", (5, x), {}),
            Call(f"{name}.Scalar_Tensor_out", (5, x), {"out": torch.empty_like(x)}),
            Call(f"{name}.Tensor_Scalar", (x, 1), {}),
            Call(f"{name}.Tensor_Scalar_out", (x, 1), {"out": torch.empty_like(x)}),
        ]
    return calls


def _elementwise() -> list[Call]:
    x, out = _floats(2, 3), torch.empty(2, 3)
    return [
        Call("aten::clamp_max", (x, 1), {}),
        Call("aten::clamp_max_", (x, 1), {}),
        Call("aten::clamp_max.out", (x, 1), {"out": out}),
        Call("aten::fill_.Tensor", (x, torch.tensor(2.0)), {}),
        Call("aten::linalg__powsum", (x, 2, [0]), {}),
        Call("aten::_test_serialization_subcmul", (x, x), {}),
    ]


def _foreach() -> list[Call]:
    x, number = _floats(2, 3), torch.tensor(2.0)
    return [
        call
        for name in ("add", "mul", "div")
        for call in (
            Call(f"aten::_foreach_{name}.Tensor", ([x, x + 1], number), {}),
            Call(f"aten::_foreach_{name}_.Tensor", ([x, x + 1], number), {}),
            Call(f"aten::_foreach_{name}.Tensor_out", ([x, x + 1], number), {"out": [torch.empty(2, 3) for _ in "xy"]}),
        )
    ]


def _arrangement() -> list[Call]:
    x, index = _floats(2, 3), torch.tensor([[0, 1, 0]])
    stacked, volume = torch.empty(2, 2, 3), _floats(1, 2, 3, 3, 3)
    reduced = torch.empty(2, 3)
    return [
        Call("aten::_index_put_impl_", (x, [torch.tensor([1])], x[:1].clone(), True), {}),
        Call("aten::_stack", ([x, x],), {}),
        Call("aten::_stack.out", ([x, x],), {"out": stacked}),
        Call("aten::argsort.stable", (x,), {"stable": True}),
        Call("aten::native_channel_shuffle", (_floats(1, 4, 2, 2), 2), {}),
        Call("aten::reflection_pad3d", (volume, [1, 1, 1, 1, 1, 1]), {}),
        Call("aten::replication_pad3d", (volume, [1, 1, 1, 1, 1, 1]), {}),
        Call("aten::scatter.value_reduce", (x, 0, index, 2), {"reduce": "add"}),
        Call("aten::scatter_.value_reduce", (x, 0, index, 2), {"reduce": "add"}),
        Call("aten::scatter.value_reduce_out", (x, 0, index, 2), {"reduce": "add", "out": reduced}),
    ]


def written_calls() -> list[Call]:
    return [
        *_grouped_mm(),
        *_batch_norm(),
        *_attention(),
        *_optimizer(),
        *_shifts(),
        *_elementwise(),
        *_foreach(),
        *_arrangement(),
    ]


# Native operators that a call cannot reach, or that do not look at what tensors hold.
NOT_COMPUTED = {
    "aten::_copy_from_and_resize": "PyTorch's own copies call it",
    "aten::_has_compatible_shallow_copy_type": "compares keys",
    "aten::_reshape_alias": "a view",
    "aten::contiguous": "PyTorch decomposes it into copies",
    "aten::index_select_backward": "PyTorch decomposes it",
    "aten::record_stream": "marks a tensor",
    "aten::rms_norm": "PyTorch decomposes it",
    "aten::set_": "replaces a storage",
    "aten::set_.source_Storage": "replaces a storage",
    "aten::set_.source_Storage_storage_offset": "replaces a storage",
    "aten::set_.source_Tensor": "replaces a storage",
    "aten::set_.source_Tensor_storage_offset": "replaces a storage",
    "aten::value_selecting_reduction_backward": "PyTorch decomposes it",
}
