"""What the checks of operators, modules and optimizers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch

from harness.compare import Rules, same
from harness.exceptions import OfCase
from harness.record import Record
from harness.runs import Run, operator_dtypes
from harness.transfer import DEVICE


class Checks(ABC):
    """Checks one entry of a database with one dtype; ``limit`` bounds the samples."""

    def __init__(self, dtype: torch.dtype, limit: int | None, exceptions: OfCase) -> None:
        self.dtype = dtype
        self.limit = limit
        self.exceptions = exceptions
        self.record = Record(exceptions)
        self._asked: set[str] = set()

    @abstractmethod
    def run(self, with_errors: bool) -> None:
        """Checks all samples, and what the database lists as errors."""

    def same(self, kind: str, what: object, function: Callable[..., Any], arguments: Any, **rules: Any) -> Run | None:
        """Compares the devices and records it; returns the run on the device, None if the comparison failed."""
        with self.record.sample(kind, what) as sample:
            found = same(function, arguments, Rules(values=not self.exceptions.metadata_only(kind), **rules), sample)
            self.learn_dtypes(function, arguments, found)
            return found
        return None

    def learn_dtypes(self, function: Callable[..., Any], arguments: Any, found: Run) -> None:
        """Asks for the dtypes of the operators, once for each: another run tells."""
        new = {each.op for each in found.operators} - self._asked
        if new:
            self._asked |= new
            self.record.note_dtypes(operator_dtypes(function, arguments, DEVICE))
