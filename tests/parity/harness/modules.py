"""The checks of a ModuleInfo with one dtype."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import islice
from typing import Any

import torch

from harness import gradients
from harness.checks import Checks
from harness.exceptions import OfCase
from harness.record import Mismatch
from harness.transfer import DEVICE, tensors


class Module(Checks):
    """One ModuleInfo with one dtype."""

    def __init__(self, info: Any, dtype: torch.dtype, limit: int | None, exceptions: OfCase) -> None:
        super().__init__(dtype, limit, exceptions)
        self.info = info
        # PyTorch multiplies the inputs of all time steps at once on the CPU, step by step elsewhere.
        layers = issubclass(info.module_cls, torch.nn.RNNBase)
        self._rounding = "recurrent layers compute step by step on the device: equal but for rounding" if layers else ""

    def run(self, with_errors: bool) -> None:
        for training in (True, False):
            inputs = self.info.module_inputs_func(
                self.info, device=DEVICE, dtype=self.dtype, requires_grad=True, training=training
            )
            for each in islice(inputs, self.limit):
                self._check(each, training)
        if with_errors and self.info.module_error_inputs_func is not None:
            self._errors()

    def _check(self, made: Any, training: bool) -> None:
        construction, forward = made.constructor_input, made.forward_input
        if forward is None:
            return
        build = self._builder(training)
        arguments = (construction.args, construction.kwargs, forward.args, forward.kwargs)
        what = f"{'train' if training else 'eval'} {made.desc} {construction.args} {construction.kwargs}"
        variants: dict[str, Callable[[torch.nn.Module, str], torch.nn.Module]] = {
            "forward": lambda module, device: module.to(device),
            "pickle": lambda module, device: _unpickled(module.to(device), device),
            "deepcopy": lambda module, device: copy.deepcopy(module.to(device)),
            "round_trip": lambda module, device: module.to(device).to("cpu").to(device),
        }
        for kind, move in variants.items():
            call = _call(build, move)
            self.same(kind, what, call, arguments, rounding=self._rounding)
        self.same("backward", what, self._backward(build, 1), arguments, rounding=self._rounding)
        if self.info.supports_gradgrad:
            twice = self._backward(build, 2)
            self.same("double_backward", what, twice, arguments, differentiated=True, rounding=self._rounding)
        with self.record.sample("to", what):
            self._moves_in_place(build, arguments)

    def _builder(self, training: bool) -> Callable[..., torch.nn.Module]:
        def build(args: Any, kwargs: Any) -> torch.nn.Module:
            # Made on the host, with equal values therefore, of copies of what they are made of.
            host = [t.cpu().clone() if isinstance(t, torch.Tensor) else t for t in args]
            named = {k: t.cpu().clone() if isinstance(t, torch.Tensor) else t for k, t in kwargs.items()}
            module: torch.nn.Module = self.info.module_cls(*host, **named)
            return module.to(self.dtype).train(training)

        return build

    def _backward(self, build: Callable[..., torch.nn.Module], order: int) -> Callable[..., Any]:
        def call(construct_args: Any, construct_kwargs: Any, args: Any, kwargs: Any) -> Any:
            device = _device((construct_args, construct_kwargs, args, kwargs))
            module = build(construct_args, construct_kwargs).to(device)
            if _is_lazy(module):
                with torch.no_grad():
                    module(*args, **kwargs)
            parameters = dict(module.named_parameters())
            inner = gradients.backward(lambda a, k, _: module(*a, **k), lambda result: result, order)
            return inner(args, kwargs, parameters), dict(module.named_buffers())

        return call

    def _moves_in_place(self, build: Callable[..., torch.nn.Module], arguments: Any) -> None:
        module = build(arguments[0], arguments[1])
        before = {name: id(p) for name, p in module.named_parameters()}
        module.to(DEVICE)
        after = dict(module.named_parameters())
        if {name: id(p) for name, p in after.items()} != before:
            raise Mismatch("Module.to replaced parameters")
        places = {t.device.type for t in (*after.values(), *module.buffers())}
        if places - {DEVICE}:
            raise Mismatch(f"Module.to left tensors on {places}")

    def _errors(self) -> None:
        for training in (True, False):
            wrong = self.info.module_error_inputs_func(
                self.info, device=DEVICE, dtype=self.dtype, requires_grad=False, training=training
            )
            for each in wrong:
                made = each.module_error_input
                forward = made.forward_input
                call = _call(self._builder(training), lambda module, device: module.to(device))
                given = (forward.args, forward.kwargs) if forward is not None else ((), {})
                arguments = (made.constructor_input.args, made.constructor_input.kwargs, *given)
                self.same("errors", each.error_regex, call, arguments)


def _unpickled(module: torch.nn.Module, device: str) -> torch.nn.Module:
    lazy = _is_lazy(module)
    made: torch.nn.Module = pickle.loads(pickle.dumps(module))
    # PyTorch forgets the device of a parameter without a shape.
    return made.to(device) if lazy else made


def _is_lazy(module: torch.nn.Module) -> bool:
    return any(torch.nn.parameter.is_lazy(p) for p in module.parameters())


def _device(arguments: Any) -> str:
    """The device of the copies that a check runs on: the first tensor's."""
    found = tensors(arguments)
    return found[0].device.type if found else "cpu"


def _call(
    build: Callable[..., torch.nn.Module], move: Callable[[torch.nn.Module, str], torch.nn.Module]
) -> Callable[..., Any]:
    def call(construct_args: Any, construct_kwargs: Any, args: Any, kwargs: Any) -> Any:
        device = _device((construct_args, construct_kwargs, args, kwargs))
        module = move(build(construct_args, construct_kwargs), device)
        result = module(*args, **kwargs)
        return result, module.state_dict()

    return call
