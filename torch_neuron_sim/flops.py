"""Formulas by which ``torch.utils.flop_counter`` counts operators that only devices like this one get from PyTorch.

Without them the counter takes them for free: it knows the matrix products into which CPU's autograd splits them.
"""

import math
from types import ModuleType
from typing import Any

import torch

from torch_neuron_sim.import_hook import when_imported


def _linear_backward(input_shape: Any, grad_shape: Any, weight_shape: Any, output_mask: Any, *_: Any, **__: Any) -> int:
    """The products for the gradients of input and weight, as far as asked for; that of the bias is a sum."""
    product = 2 * math.prod(input_shape) * weight_shape[0]
    return int(product * sum(map(bool, output_mask[:2])))


def _register(flop_counter: ModuleType) -> None:
    def attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
        return flop_counter.sdpa_flop_count(query, key, value)

    def attention_backward(grad: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
        return flop_counter.sdpa_backward_flop_count(grad, query, key, value)

    aten, register = torch.ops.aten, flop_counter.register_flop_formula
    register(aten.linear_backward)(_linear_backward)
    register(aten._scaled_dot_product_fused_attention_overrideable)(attention)
    register(aten._scaled_dot_product_fused_attention_overrideable_backward)(attention_backward)


def install() -> None:
    """Registers the formulas when a program imports the counter."""
    when_imported("torch.utils.flop_counter", _register)
