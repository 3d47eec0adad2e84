"""The checks of an OptimizerInfo with one dtype."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

from harness.checks import Checks
from harness.compare import refuses_in_one_line
from harness.exceptions import OfCase
from harness.relaxations import OTHER_LAYOUT
from harness.runs import run
from harness.transfer import DEVICE

STEPS = 10
_CAPTURABLE = "capturable"


class Optimizer(Checks):
    """One OptimizerInfo with one dtype: every configuration with every implementation it has for CPU."""

    def __init__(self, info: Any, dtype: torch.dtype, limit: int | None, exceptions: OfCase) -> None:
        super().__init__(dtype, limit, exceptions)
        self.info = info

    def run(self, with_errors: bool) -> None:
        for what, options in self._configurations():
            for kind, build in (("steps", self._steps), ("state_dict", self._restored)):
                self._same("fused" if what.startswith("fused") else kind, what, build(options), self._parameters())
        if with_errors:
            self._errors()

    def _configurations(self) -> Iterator[tuple[str, dict[str, Any]]]:
        made = self.info.optim_inputs_func(device=DEVICE)[: self.limit]
        for each in made:
            # Without a choice, devices other than the CPU get foreach.
            plain = {"foreach": False} if "foreach" in self.info.supported_impls else {}
            yield f"{each.desc} {each.kwargs}", {**each.kwargs, **plain}
            for flag in self.info.supported_impls:
                if flag == "fused" and "cpu" not in self.info.supports_fused_on:
                    continue
                # A learning rate that is a tensor needs the flag capturable with foreach; the CPU says so.
                options = {**each.kwargs, "foreach": flag == "foreach", flag: True}
                yield f"{flag} {each.desc} {each.kwargs}", options
            if "capturable" in inspect.signature(self.info.optim_cls).parameters:
                yield f"{_CAPTURABLE} {each.desc} {each.kwargs}", {**each.kwargs, **plain, _CAPTURABLE: True}

    def _same(self, kind: str, what: str, function: Callable[..., Any], parameters: Any) -> None:
        if self.info.only_supports_sparse_grads:
            with self.record.sample(kind, what) as sample:
                refuses_in_one_line(run(function, (parameters,), DEVICE).error)
                sample.relax(OTHER_LAYOUT)
        else:
            # Counters of steps stay on the host, as on the CPU.
            self.same(kind, what, function, (parameters,), places=False)

    def _parameters(self) -> list[torch.Tensor]:
        torch.manual_seed(1)
        shapes = [(5, 4), (3, 3)] if self.info.name == "Muon" else [(5, 4), (7,), ()]
        return [torch.randn(shape, dtype=self.dtype, device=DEVICE) for shape in shapes]

    def _made(self, parameters: list[torch.nn.Parameter], options: dict[str, Any]) -> torch.optim.Optimizer:
        made: torch.optim.Optimizer = self.info.optim_cls(parameters, **_fresh(options))
        return made

    def _steps(self, options: dict[str, Any]) -> Callable[..., Any]:
        def call(values: list[torch.Tensor]) -> Any:
            parameters = [torch.nn.Parameter(v) for v in values]
            optimizer = self._made(parameters, options)
            with _capturable_everywhere():
                seen = [self._step(optimizer, parameters, step) for step in range(STEPS)]
            return seen, optimizer.state_dict()

        return call

    def _restored(self, options: dict[str, Any]) -> Callable[..., Any]:
        def call(values: list[torch.Tensor]) -> Any:
            parameters = [torch.nn.Parameter(v) for v in values]
            optimizer = self._made(parameters, options)
            with _capturable_everywhere():
                for step in range(STEPS // 2):
                    self._step(optimizer, parameters, step)
                saved = copy.deepcopy(optimizer.state_dict())
                again = self._made(parameters, options)
                again.load_state_dict(saved)
                seen = [self._step(again, parameters, step) for step in range(STEPS // 2, STEPS)]
            return seen, again.state_dict()

        return call

    def _step(self, optimizer: Any, parameters: list[torch.nn.Parameter], step: int) -> list[tuple[torch.Tensor, bool]]:
        place = parameters[0].device

        def closure() -> torch.Tensor:
            loss = torch.zeros((), dtype=self.dtype, device=parameters[0].device)
            for index, p in enumerate(parameters):
                # Smooth, different at each step, and dense.
                target = float(index - step)
                grad = (p.detach() - target) / p.numel()
                loss = loss + (grad * grad).sum()
                p.grad = grad.to_sparse() if self.info.only_supports_sparse_grads else grad
            return loss

        if self.info.step_requires_closure:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
        return [(p.detach().clone(), p.device == place) for p in parameters]

    def _errors(self) -> None:
        if self.info.optim_error_inputs_func is None:
            return
        for each in self.info.optim_error_inputs_func(device=DEVICE, dtype=self.dtype):
            wrong = each.optimizer_error_input

            def call(params: Any, options: dict[str, Any] = wrong.kwargs) -> Any:
                optimizer = self.info.optim_cls(params, **_fresh(options))
                optimizer.step()
                return optimizer.state_dict()

            self.same("errors", f"{wrong.desc} {wrong.kwargs}", call, (wrong.params,), places=False)


@contextmanager
def _capturable_everywhere() -> Iterator[None]:
    """PyTorch's table of devices with capturable optimizers lacks the CPU, where the same formulas run."""
    with ExitStack() as patches:
        name = "_get_capturable_supported_devices"
        for module in [each for each in sys.modules if each.startswith("torch.optim.")]:
            if hasattr(sys.modules[module], name):
                patches.enter_context(mock.patch(f"{module}.{name}", lambda **_: ["cpu", DEVICE]))
        yield


def _fresh(options: dict[str, Any]) -> dict[str, Any]:
    """Options that may hold tensors, of which each run gets copies."""
    return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
