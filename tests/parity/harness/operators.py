"""The checks of an OpInfo with one dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from harness import gradients, routes
from harness.compare import Mismatch, Rules, Run, run, same, same_results
from harness.out_arguments import out_variants
from harness.record import Record
from harness.samples import LAYOUTS, Arguments, arguments, changed, error_samples, samples, without_elements
from harness.transfer import DEVICE, Transfer, tensors


class Operator:
    """One OpInfo with one dtype; ``limit`` bounds the samples.

    ``metadata_only`` says for which checks not to compare values.
    """

    def __init__(self, info: Any, dtype: torch.dtype, limit: int | None, metadata_only: Callable[[str], bool]) -> None:
        self.info = info
        self.dtype = dtype
        self.limit = limit
        self.metadata_only = metadata_only
        self.record = Record()
        self.differentiates = dtype in info.supported_backward_dtypes("cpu")

    def check(self, with_errors: bool) -> Record:
        ledger = routes.Ledger()
        for sample in samples(self.info, self.dtype, False, self.limit):
            self._without_gradients(sample)
        if self.differentiates:
            for sample in samples(self.info, self.dtype, True, self.limit):
                self._with_gradients(sample)
        if with_errors:
            self._errors()
        ledger.check(self.record)
        return self.record

    def _same(self, kind: str, function: Callable[..., Any], made: Any, what: object, **rules: Any) -> Run | None:
        with self.record.sample(kind, what):
            return same(function, made, Rules(values=not self.metadata_only(kind), **rules))
        return None

    def _layouts(self, function: Callable[..., Any], made: Arguments, *what: object) -> None:
        for name, change in LAYOUTS.items():
            altered = changed(change, made)
            if altered is None:
                continue
            rules = Rules(values=not self.metadata_only("layouts"))
            with self.record.sample("layouts", (name, *what)):
                try:
                    same(function, altered, rules)
                except Mismatch:
                    if not (name == "neg" and _cpu_ignores(function, altered, made, rules)):
                        raise

    def _call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda input, args, kwargs: function(input, *args, **kwargs)

    def _without_gradients(self, sample: Any) -> None:
        made = arguments(sample)
        call = self._call(self.info.op)
        found = self._same("forward", call, made, sample)
        self._in_place(sample, made)
        if self.info.supports_out and not getattr(self.info, "has_no_out_of_place", False):
            self._out(sample, made)
        if found is None or found.error is not None:
            return
        self._layouts(call, made, sample)
        emptied = without_elements(made)
        if emptied is not None:
            self._same("zero_size", call, emptied, sample)

    def _in_place(self, sample: Any, made: Arguments) -> None:
        if sample.broadcasts_input:
            return
        variants = {self.info.get_inplace(), self.info.get_inplace_operator()} - {None}
        for variant in sorted(variants, key=str):

            def call(input: Any, args: Any, kwargs: Any, variant: Callable[..., Any] = variant) -> Any:
                result = variant(input, *args, **kwargs)
                return result, result is input

            self._same("inplace", call, made, sample)

    def _out(self, sample: Any, made: Arguments) -> None:
        if "out" in made[2]:
            return
        expected = run(self._call(self.info.op), made, "cpu")
        if expected.error is not None:
            return
        for name, out in out_variants(expected.result, made):

            def call(input: Any, args: Any, kwargs: Any, out: Any) -> Any:
                result = self.info.op(input, *args, **kwargs, out=out)
                pairs = zip(tree_flatten(result)[0], tree_flatten(out)[0], strict=True)
                return result, [one is other for one, other in pairs]

            on_device = Transfer(DEVICE, everything=True)(out) if name != "input" else out
            self._same("out", call, (*made, on_device), (name, sample), warned=True, written=1)

    def _with_gradients(self, sample: Any) -> None:
        made = arguments(sample)
        call, process = self._call(self.info.op), sample.output_process_fn_grad
        backward = gradients.backward(call, process)
        if self._same("backward", backward, made, sample) is None:
            return
        if self.info.supports_gradgrad:
            # Autograd orders nodes by a count that each thread has of its own, so that nodes made in a backward of the
            # device run, and are added up, in another order than on the CPU.
            self._same("double_backward", gradients.backward(call, process, order=2), made, sample, exact=False)
        if self.info.supports_forward_ad:
            self._same("forward_mode", gradients.forward_mode(call, process), made, sample)
        self._layouts(backward, made, "with gradients", sample)
        variant = self.info.get_inplace()
        if variant is not None and not sample.broadcasts_input:

            def in_place(input: Any, args: Any, kwargs: Any) -> Any:
                fresh = [t.clone() for t in input] if isinstance(input, list | tuple) else input.clone()
                variant(fresh, *args, **kwargs)
                return fresh

            self._same("inplace", gradients.backward(in_place, process), made, ("with gradients", sample))

    def _errors(self) -> None:
        for wrong in error_samples(self.info, self.limit):
            made = arguments(wrong.sample_input)
            with self.record.sample("errors", wrong.sample_input):
                if _mixes_devices(made):
                    _refuses_two_devices(self._call(self.info.op), made)
                else:
                    same(self._call(self.info.op), made, Rules(values=not self.metadata_only("errors")))
        for sample in samples(self.info, self.dtype, False, 1):
            self._same("errors", self._call(self.info.op), arguments(sample), ("after errors", sample))


def _cpu_ignores(function: Callable[..., Any], altered: Arguments, made: Arguments, rules: Rules) -> bool:
    """Whether the CPU overlooks that its input is a negated view, while the device gives what it is worth."""
    wrong, right, found = (
        replace(run(function, given, device), arguments=())
        for given, device in ((altered, "cpu"), (made, "cpu"), (altered, DEVICE))
    )
    try:
        same_results(wrong, right, right, (), rules)
        return False
    except Mismatch:
        same_results(found, right, right, made, rules)
        return True


def _mixes_devices(made: Arguments) -> bool:
    places = {t.device.type for t in tensors(made) if t.dim()}
    return places >= {"cpu", DEVICE}


def _refuses_two_devices(call: Callable[..., Any], made: Arguments) -> None:
    found = run(call, made, DEVICE)
    if not isinstance(found.error, RuntimeError | TypeError | ValueError):
        raise Mismatch(f"tensors of two devices: found {found.error!r}")
