"""How ``torch.func.vmap`` batches the operators by which PyTorch hands attention to a device.

PyTorch has rules for the attention operators of the devices it knows. For others it makes a loop by itself, but only of
operators that return nothing but tensors. These are the loops.
"""

from collections.abc import Iterator
from typing import Any

import torch

from torch_neuron_sim import random

_FORWARD = "aten::_scaled_dot_product_fused_attention_overrideable"
_BACKWARD = "aten::_scaled_dot_product_fused_attention_overrideable_backward"
_DROPOUT = 4  # the place of dropout_p among the arguments of the forward operator

Dimensions = tuple[Any, ...]
Batched = tuple[tuple[Any, ...], Dimensions]


def _forward(info: Any, in_dims: Dimensions, *arguments: Any, **named: Any) -> Batched:
    """RuntimeError for dropout without a choice of randomness."""
    dropout = named.get("dropout_p", arguments[_DROPOUT] if len(arguments) > _DROPOUT else 0.0) > 0
    if dropout and info.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    device = arguments[0].device
    state = random.get_rng_state(device) if dropout and info.randomness == "same" else None
    results = []
    for example in _examples(info.batch_size, in_dims, arguments):
        if state is not None:
            random.set_rng_state(state, device)
        results.append(torch.ops.aten._scaled_dot_product_fused_attention_overrideable(*example, **named))
    return _stack(results)


def _backward(info: Any, in_dims: Dimensions, *arguments: Any, **named: Any) -> Batched:
    operator = torch.ops.aten._scaled_dot_product_fused_attention_overrideable_backward
    return _stack([operator(*example, **named) for example in _examples(info.batch_size, in_dims, arguments)])


def _examples(size: int, in_dims: Dimensions, arguments: tuple[Any, ...]) -> Iterator[list[Any]]:
    """The arguments for each example. An argument without a batch dimension is the same for all."""
    for index in range(size):
        yield [
            _select(argument, dim, index) if isinstance(dim, int) else argument
            for argument, dim in zip(arguments, in_dims, strict=True)
        ]


def _select(tensor: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    selected = tensor.select(dim, index)
    # Bytes are the state of a generator, which PyTorch reads from the start of its storage.
    return selected.clone() if selected.dtype == torch.uint8 else selected


def _stack(results: list[tuple[Any, ...]]) -> Batched:
    """The results of all examples, batched in front; sizes and None are the same for all."""
    stacked = tuple(
        torch.stack(each) if isinstance(each[0], torch.Tensor) else each[0] for each in zip(*results, strict=True)
    )
    return stacked, tuple(0 if isinstance(each, torch.Tensor) else None for each in stacked)


def install() -> None:
    """Tells PyTorch the rules."""
    torch.library.register_vmap(_FORWARD, _forward)
    torch.library.register_vmap(_BACKWARD, _backward)
