"""The checks of an OpInfo with one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from harness import gradients
from harness.checks import Checks
from harness.compare import Rules, same, same_as_copied
from harness.exceptions import OfCase
from harness.out_arguments import out_variants
from harness.record import Mismatch
from harness.runs import Run, run
from harness.samples import (
    CRASHES_WITHOUT_ELEMENTS,
    LAYOUTS,
    Arguments,
    arguments,
    changed,
    error_samples,
    samples,
    without_elements,
)
from harness.transfer import DEVICE, Transfer, tensors
from harness.trees import leaves


class Operator(Checks):
    """One OpInfo with one dtype."""

    def __init__(self, info: Any, dtype: torch.dtype, limit: int | None, exceptions: OfCase) -> None:
        super().__init__(dtype, limit, exceptions)
        self.info = info

    def run(self, with_errors: bool) -> None:
        for sample in samples(self.info, self.dtype, False, self.limit, self.record):
            self._without_gradients(sample)
        if self.dtype in self.info.supported_backward_dtypes("cpu"):
            for sample in samples(self.info, self.dtype, True, self.limit, self.record):
                self._with_gradients(sample)
        if with_errors:
            self._errors()

    def _layouts(self, kind: str, function: Callable[..., Any], made: Arguments, *what: object) -> None:
        for name, change in LAYOUTS.items():
            altered = changed(change, made)
            if altered is None:
                continue
            with self.record.sample(kind, (name, *what)) as sample:
                rules = Rules(values=not self.exceptions.metadata_only(kind))
                try:
                    same(function, altered, rules, sample)
                except Mismatch:
                    if not (name == "neg" and same_as_copied(function, altered, made, sample)):
                        raise

    def _call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda input, args, kwargs: function(input, *args, **kwargs)

    def _without_gradients(self, sample: Any) -> None:
        made = arguments(sample)
        call = self._call(self.info.op)
        found = self.same("forward", sample, call, made)
        self._in_place(sample, made)
        if self.info.supports_out and not getattr(self.info, "has_no_out_of_place", False):
            self._out(sample, made)
        if found is None or found.error is not None:
            return
        self._layouts("layouts", call, made, sample)
        emptied = without_elements(made)
        if emptied is not None:
            self.same("zero_size", sample, call, emptied)

    def _in_place(self, sample: Any, made: Arguments) -> None:
        variants = {self.info.get_inplace(), self.info.get_inplace_operator()} - {None}
        for variant in sorted(variants, key=str):

            def call(input: Any, args: Any, kwargs: Any, variant: Callable[..., Any] = variant) -> Any:
                result = variant(input, *args, **kwargs)
                return result, result is input

            found = self.same("inplace", sample, call, made)
            if found is not None and found.error is None:
                self._layouts("inplace", call, made, sample)

    def _out(self, sample: Any, made: Arguments) -> None:
        if "out" in made[2]:
            return
        expected = run(self._call(self.info.op), made, "cpu")
        if expected.error is not None:
            return

        def call(input: Any, args: Any, kwargs: Any, out: Any) -> Any:
            result = self.info.op(input, *args, **kwargs, out=out)
            pairs = zip(leaves(result), leaves(out), strict=True)
            return result, [one is other for one, other in pairs]

        for name, given, out in out_variants(expected.result, made):
            shares = tensors(out)[0].device.type == DEVICE
            moved = out if shares else Transfer(DEVICE, everything=True)(out)
            self.same("out", (name, sample), call, (*given, moved), warned=True, written=1)

    def _with_gradients(self, sample: Any) -> None:
        made = arguments(sample)
        call, process = self._call(self.info.op), sample.output_process_fn_grad
        backward = gradients.backward(call, process)
        if self.same("backward", sample, backward, made) is None:
            return
        if self.info.supports_gradgrad:
            twice = gradients.backward(call, process, order=2)
            self.same("double_backward", sample, twice, made, differentiated=True)
        if self.info.supports_forward_ad:
            tangents = gradients.forward_mode(call, process)
            self.same("forward_mode", sample, tangents, made, differentiated=True)
        self._layouts("layouts", backward, made, "with gradients", sample)
        emptied = without_elements(made)
        if emptied is not None and self.info.name not in CRASHES_WITHOUT_ELEMENTS:
            self.same("zero_size", ("with gradients", sample), backward, emptied)
        variant = self.info.get_inplace()
        if variant is not None and not sample.broadcasts_input:

            def in_place(input: Any, args: Any, kwargs: Any) -> Any:
                fresh = [t.clone() for t in input] if isinstance(input, list | tuple) else input.clone()
                variant(fresh, *args, **kwargs)
                return fresh

            self.same("inplace", ("with gradients", sample), gradients.backward(in_place, process), made)

    def _errors(self) -> None:
        for wrong in error_samples(self.info, self.limit, self.record):
            made = arguments(wrong.sample_input)
            call = self._call(self.info.op)
            if _mixes_devices(made):
                with self.record.sample("errors", wrong.sample_input):
                    _refuses_two_devices(call, made)
            else:
                self.same("errors", wrong.sample_input, call, made)
        for sample in samples(self.info, self.dtype, False, 1, self.record):
            self.same("errors", ("after errors", sample), self._call(self.info.op), arguments(sample))


def _mixes_devices(made: Arguments) -> bool:
    places = {t.device.type for t in tensors(made) if t.dim()}
    return places >= {"cpu", DEVICE}


def _refuses_two_devices(call: Callable[..., Any], made: Arguments) -> None:
    found: Run = run(call, made, DEVICE)
    if not isinstance(found.error, RuntimeError | TypeError | ValueError):
        raise Mismatch(f"tensors of two devices: found {found.error!r}")
