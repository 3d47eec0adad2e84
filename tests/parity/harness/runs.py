"""One call on copies of its arguments, on one device, and what it left behind."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.routes import Ran, clear, ran
from harness.transfer import DEVICE, Transfer
from harness.trees import leaves


@dataclass
class Run:
    """What a call left behind."""

    arguments: Any
    result: Any = None
    error: BaseException | None = None
    warnings: list[str] = field(default_factory=list)
    operators: frozenset[Ran] = frozenset()  # that ran on the device


def seed(number: int = 0) -> None:
    # torch.manual_seed would also tell CUDA, which writes down the stack each time.
    torch.default_generator.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def run(function: Callable[..., Any], arguments: Any, device: str) -> Run:
    made = Run(Transfer(device)(arguments))
    seed()
    if device == DEVICE:
        clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made.result = function(*made.arguments)
        except Exception as error:  # whatever the CPU raises, the device has to raise
            made.error = error
    made.operators = ran() if device == DEVICE else frozenset()
    made.warnings = sorted({str(warning.message) for warning in caught})
    return made


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the dtypes of the operators that run: of the argument ``self``, else of the first tensor."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtypes: dict[str, set[torch.dtype]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = dict(zip((each.name for each in func._schema.arguments), args, strict=False)) | (kwargs or {})
        # The operator may take itself to be several tensors, or make one of none.
        places = leaves((given.get("self"), given, result))
        first = [leaf.dtype for leaf in places if isinstance(leaf, torch.Tensor)][:1]
        self.dtypes.setdefault(func.name(), set()).update(first)
        return result


def operator_dtypes(function: Callable[..., Any], arguments: Any, device: str) -> dict[str, set[torch.dtype]]:
    """The operators that a call runs, with the dtypes it gives them. Those inside of an operator are not seen."""
    seen = _Operators()
    with seen:
        run(function, arguments, device)
    return seen.dtypes
