"""Runs every op of a program on the device once more on CPU, with the same arguments, to find the one that differs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map


@dataclass(frozen=True)
class Difference:
    op: str  # e.g. aten::mm
    module: str  # e.g. "layers.0 (Linear)"; empty outside modules and in backward
    text: str  # by how much


Check = Callable[[Tensor, Tensor], None]


class ShadowMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the first op whose tensor results do not pass ``check(device result on CPU, CPU result)``."""

    def __init__(self, check: Check) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._check = check
        self.modules: list[str] = []
        self.found: Difference | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.found is not None:
            return func(*args, **kwargs)
        host_args, host_kwargs = tree_map(_to_cpu, (args, kwargs))
        before = torch.get_rng_state()
        result = func(*args, **kwargs)
        after = torch.get_rng_state()
        torch.set_rng_state(before)
        try:
            expected = func(*host_args, **host_kwargs)
        except NotImplementedError:  # a kernel that CPU does not have, such as linear_backward
            return result
        finally:
            torch.set_rng_state(after)
        self._compare(str(func._schema.name), result, expected)
        return result

    def _compare(self, op: str, result: Any, expected: Any) -> None:
        for actual, wanted in zip(tree_leaves(result), tree_leaves(expected), strict=True):
            if not isinstance(actual, Tensor) or actual.device.type != "neuron":
                continue
            try:
                self._check(actual.cpu(), wanted)
            except AssertionError as error:
                self.found = Difference(op, self.modules[-1] if self.modules else "", str(error))
                return


def _to_cpu(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return leaf.detach().cpu().clone() if leaf.device.type == "neuron" else leaf
    if isinstance(leaf, torch.device):
        return torch.device("cpu") if leaf.type == "neuron" else leaf
    return leaf


Around = Callable[[torch.nn.Module | None], Any]


def find_first_op(run: Callable[[Around], Any], check: Check) -> Difference | None:
    """``run(around)`` runs the program on the device inside ``with around(module or None)``."""
    mode = ShadowMode(check)

    @contextmanager
    def around(module: torch.nn.Module | None) -> Iterator[None]:
        handles = [] if module is None else _watch(module, mode.modules.append, lambda *_: mode.modules.pop())
        try:
            with mode:
                yield
        finally:
            for handle in handles:
                handle.remove()

    run(around)
    return mode.found


def find_first_module(run_on: Callable[[torch.device, Around], Any], check: Check) -> Difference | None:
    """The first module, in the order in which they finish, whose tensor results differ between the two devices."""
    seen: dict[str, list[tuple[str, Any]]] = {"cpu": [], "neuron": []}
    for device, finished in seen.items():

        @contextmanager
        def around(module: torch.nn.Module | None, finished: list[tuple[str, Any]] = finished) -> Iterator[None]:
            def keep(label: str, output: Any) -> None:
                finished.append((label, tree_map(_to_cpu, output)))

            handles = [] if module is None else _watch(module, lambda _: None, keep)
            try:
                yield
            finally:
                for handle in handles:
                    handle.remove()

        run_on(torch.device(device), around)
    for (label, expected), (_, actual) in zip(seen["cpu"], seen["neuron"], strict=False):
        for wanted, got in zip(tree_leaves(expected), tree_leaves(actual), strict=False):
            try:
                if isinstance(got, Tensor):
                    check(got, wanted)
            except AssertionError as error:
                return Difference("", label, str(error))
    return None


def _watch(module: torch.nn.Module, start: Callable[[str], None], finish: Callable[[str, Any], Any]) -> list[Any]:
    """Calls ``start(label)`` before and ``finish(label, output)`` after the forward of each part of ``module``."""
    handles: list[Any] = []
    for name, part in module.named_modules():
        label = f"{name or 'itself'} ({type(part).__name__})"
        handles.append(part.register_forward_pre_hook(lambda *_, label=label: start(label)))

        def after(_: Any, __: Any, output: Any, label: str = label) -> None:
            finish(label, output)

        handles.append(part.register_forward_hook(after))
    return handles
