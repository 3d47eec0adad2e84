"""The checks of an OptimizerInfo with one dtype."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch

from harness import routes
from harness.compare import Rules, refuses_in_one_line, run, same
from harness.record import Record
from harness.transfer import DEVICE

STEPS = 10


class Optimizer:
    """One OptimizerInfo with one dtype: every configuration with every implementation it has for CPU."""

    def __init__(self, info: Any, dtype: torch.dtype, limit: int | None, metadata_only: Callable[[str], bool]) -> None:
        self.info = info
        self.dtype = dtype
        self.limit = limit
        # Counters of steps stay on the host, as on the CPU.
        self.rules = Rules(places=False)
        self.record = Record()

    def check(self, with_errors: bool) -> Record:
        ledger = routes.Ledger()
        for what, options in self._configurations():
            for kind, build in (("steps", self._steps), ("state_dict", self._restored)):
                with self.record.sample(kind, what):
                    self._same(build(options), self._parameters())
        if with_errors:
            self._errors()
        ledger.check(self.record)
        return self.record

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

    def _same(self, function: Callable[..., Any], parameters: Any) -> None:
        if self.info.only_supports_sparse_grads:
            refuses_in_one_line(run(function, (parameters,), DEVICE).error)
        else:
            same(function, (parameters,), self.rules)

    def _parameters(self) -> list[torch.Tensor]:
        torch.manual_seed(1)
        shapes = [(5, 4), (3, 3)] if self.info.name == "Muon" else [(5, 4), (7,), ()]
        return [torch.randn(shape, dtype=self.dtype, device=DEVICE) for shape in shapes]

    def _steps(self, options: dict[str, Any]) -> Callable[..., Any]:
        def call(values: list[torch.Tensor]) -> Any:
            parameters = [torch.nn.Parameter(v) for v in values]
            optimizer = self.info.optim_cls(parameters, **_fresh(options))
            seen = [self._step(optimizer, parameters, step) for step in range(STEPS)]
            return seen, optimizer.state_dict()

        return call

    def _restored(self, options: dict[str, Any]) -> Callable[..., Any]:
        def call(values: list[torch.Tensor]) -> Any:
            parameters = [torch.nn.Parameter(v) for v in values]
            optimizer = self.info.optim_cls(parameters, **_fresh(options))
            for step in range(STEPS // 2):
                self._step(optimizer, parameters, step)
            saved = copy.deepcopy(optimizer.state_dict())
            again = self.info.optim_cls(parameters, **_fresh(options))
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

            with self.record.sample("errors", f"{wrong.desc} {wrong.kwargs}"):
                same(call, (wrong.params,), self.rules)


def _fresh(options: dict[str, Any]) -> dict[str, Any]:
    """Options that may hold tensors, of which each run gets copies."""
    return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
