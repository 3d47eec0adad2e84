"""Which operators a captured graph calls, forward and backward, and which of them the device has no kernel for."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import torch
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from torch_neuron_sim import _C, coverage

_COMPOSITE_KEYS = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name()
        if not name.startswith("prim::"):  # asks a tensor for its device and the like
            self.names.append(name if "::" in name else f"higher_order::{name}")
        return func(*args, **(kwargs or {}))


def operators(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> list[str]:
    """Full names of the operators that the graph calls, and that its backward calls if gradients are on: unique, in
    order of first use. Nothing is computed: fake tensors tell sizes and dtypes alone.
    """
    mode = detect_fake_mode(example_inputs) or FakeTensorMode()
    recorder = _Recorder()
    with _sandbox(mode):
        leaves = [_fresh(value, mode) for value in example_inputs]
        # An in-place operator may write an input that requires gradients only if that is no leaf, nor a view of one.
        inputs = [value.clone() if _requires_grad(value) else value for value in leaves]
        with recorder:
            outputs = [value for value in tree_leaves(graph(*inputs)) if _requires_grad(value)]
            wanted = [value for value in leaves if _requires_grad(value)]
            if outputs and wanted:
                seeds = [torch.empty_like(value) for value in outputs]
                torch.autograd.grad(outputs, wanted, seeds, allow_unused=True)
    return list(dict.fromkeys(recorder.names))


def not_native(names: Sequence[str]) -> list[str]:
    """Those that the coverage table in force does not give to the device, under the names that op tracking uses."""
    found = (recorded for name in names for route, recorded in [_route(name)] if route != "native")
    return list(dict.fromkeys(found))


def _route(name: str) -> tuple[str, str]:
    table = coverage.coverage_table()
    row = table.rows.get(name)
    if row is not None:
        return row.route, row.recorded_as
    if not name.startswith("aten::"):
        return "fallback", name
    # The table has no row for what PyTorch itself decomposes: the parts count.
    composite = any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _COMPOSITE_KEYS)
    return "native" if composite or name in _C.hand_registered() else table.default_route, name


@contextlib.contextmanager
def _sandbox(mode: FakeTensorMode) -> Iterator[None]:
    """Within, tensors are fake; neither the grad mode nor the guards of the compilation under way change."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.set_grad_enabled(torch.is_grad_enabled()))
        # A graph may hold tensors of its own.
        stack.enter_context(patch.object(mode, "allow_non_fake_inputs", True))
        if mode.shape_env is not None:
            stack.enter_context(mode.shape_env.suppress_guards())
            stack.enter_context(mode.shape_env.ignore_fresh_unbacked_symbols())
        stack.enter_context(mode)
        yield


def _fresh(value: Any, mode: FakeTensorMode) -> Any:
    """A fake tensor of its own for an example input, so that what the graph does to it stays here."""
    if not isinstance(value, torch.Tensor):
        return value
    fake = value if isinstance(value, FakeTensor) else mode.from_tensor(value)
    return fake.detach().clone().requires_grad_(value.requires_grad)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad
