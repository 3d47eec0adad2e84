"""Compares a function or a module on the device with CPU, forward and backward."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from torch_neuron_sim.testing.shadow import Around, Difference, find_first_module, find_first_op

_COTANGENT_SEED = 0


@dataclass(frozen=True)
class Outcome:
    """What one run gave: tensors by a name that an error can use."""

    tensors: dict[str, Tensor]


def assert_parity(
    fn_or_module: Callable[..., Any], *inputs: Any, rtol: float | None = None, atol: float | None = None
) -> None:
    """Runs ``fn_or_module(*inputs)`` on CPU and on the device, forward and backward, and compares.

    Outputs, gradients of the inputs that require grad, and, for a module, gradients of its parameters and its buffers
    afterwards must agree. The module and the inputs are copied, and random numbers are drawn from one and the same
    state on both sides, which is left as it was.

    Args:
        fn_or_module: a function of tensors or an ``nn.Module``, on CPU; what it returns may be nested.
        inputs: its arguments; tensors among them, also nested ones, are on CPU.
        rtol, atol: as in ``torch.testing.assert_close``; by default its values for the dtype.

    Raises:
        AssertionError: something differs. The message names it, by how much, and the first op (and module) whose result
            on the device differs from what the same op gives on CPU for the same arguments, or else the first module.
        ValueError: only one of rtol and atol is given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "assert_parity: rtol and atol go together, as in torch.testing.assert_close; give both or none"
        )
    state = torch.get_rng_state()
    try:
        expected = _run(fn_or_module, inputs, torch.device("cpu"))
        torch.set_rng_state(state)
        actual = _run(fn_or_module, inputs, torch.device("neuron"))
        failure = _first_failure(actual, expected, rtol, atol)
        if failure is None:
            return
        close = _close(rtol, atol)

        def run_on(device: torch.device, around: Around) -> Outcome:
            torch.set_rng_state(state)
            return _run(fn_or_module, inputs, device, around)

        cause = find_first_op(lambda around: run_on(torch.device("neuron"), around), close)
        cause = cause or find_first_module(run_on, close)
        raise AssertionError(f"neuron and CPU differ in {failure}\n{_describe(cause)}")
    finally:
        torch.set_rng_state(state)


def _describe(cause: Difference | None) -> str:
    if cause is None:
        return (
            "No op differs beyond the tolerance when it gets the same arguments on both devices: the difference "
            "builds up over several ops, or the program does different things on them."
        )
    if not cause.op:
        return (
            f"First module whose output differs, though no op does for the same arguments: {cause.module}\n{cause.text}"
        )
    where = f" in module {cause.module}" if cause.module else ""
    return f"First op that differs for the same arguments: {cause.op}{where}\n{cause.text}"


def _close(rtol: float | None, atol: float | None) -> Callable[[Tensor, Tensor], None]:
    def check(actual: Tensor, expected: Tensor) -> None:
        torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True)

    return check


def _first_failure(actual: Outcome, expected: Outcome, rtol: float | None, atol: float | None) -> str | None:
    if actual.tensors.keys() != expected.tensors.keys():
        only = sorted(actual.tensors.keys() ^ expected.tensors.keys())
        return f"what they give: {', '.join(only)} on one side only"
    for name, value in actual.tensors.items():
        try:
            _close(rtol, atol)(value.cpu(), expected.tensors[name])
        except AssertionError as error:
            return f"{name}: {error}"
    return None


def _run(
    fn_or_module: Callable[..., Any],
    inputs: tuple[Any, ...],
    device: torch.device,
    around: Around | None = None,
) -> Outcome:
    module = copy.deepcopy(fn_or_module).to(device) if isinstance(fn_or_module, torch.nn.Module) else None
    placed = tree_map(lambda leaf: _place(leaf, device), inputs)
    call = module if module is not None else fn_or_module
    if around is None:
        results = _forward_backward(call, placed, module)
    else:
        with around(module):
            results = _forward_backward(call, placed, module)
    return Outcome({name: value.detach() for name, value in results})


def _place(leaf: Any, device: torch.device) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    return leaf.detach().clone().to(device).requires_grad_(leaf.requires_grad)


def _forward_backward(
    call: Callable[..., Any], inputs: tuple[Any, ...], module: torch.nn.Module | None
) -> Iterable[tuple[str, Tensor]]:
    outputs = [leaf for leaf in tree_leaves(call(*inputs)) if isinstance(leaf, Tensor)]
    results = [(f"output {i}", output) for i, output in enumerate(outputs)]
    differentiable = [output for output in outputs if output.requires_grad]
    if differentiable:
        generator = torch.Generator().manual_seed(_COTANGENT_SEED)
        cotangents = [
            torch.randn(output.shape, generator=generator).to(output.device, output.dtype) for output in differentiable
        ]
        torch.autograd.backward(differentiable, cotangents)
    leaves = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, Tensor)]
    results += [(f"gradient of input {i}", leaf.grad) for i, leaf in enumerate(leaves) if leaf.grad is not None]
    if module is not None:
        parameters = module.named_parameters()
        results += [(f"gradient of {name}", value.grad) for name, value in parameters if value.grad is not None]
        results += [(f"buffer {name}", value) for name, value in module.named_buffers()]
    return results
