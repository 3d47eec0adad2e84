"""Calls of single operators of the dispatcher, as the samples of PyTorch's databases make them on the device."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations as operators_db
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only

from harness.call import Call, overload
from harness.cases import foreach_infos
from harness.routes import route
from harness.transfer import DEVICE, is_dense, tensors
from harness.written_calls import written_calls

# Samples of each entry and dtype, and calls of each operator with one kind of arguments: enough for all branches.
_SAMPLES, _GRADIENT_SAMPLES, _CALLS = 8, 3, 12
_DTYPES = (torch.float32, torch.int64, torch.bool)


class _Recorder(TorchDispatchMode):
    """Keeps a copy of the arguments of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, list[Call]] = defaultdict(list)
        self._seen: set[tuple[Any, ...]] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "aten" and is_dense((args, kwargs)):
            self._keep(func.name(), args, kwargs or {})
        return func(*args, **(kwargs or {}))

    def _keep(self, op: str, args: Any, kwargs: Any) -> None:
        leaves = tree_flatten((args, kwargs))[0]
        kind = tuple((t.dtype, t.dim(), not t.numel()) if isinstance(t, torch.Tensor) else type(t) for t in leaves)
        if len(self.calls[op]) >= _CALLS * len(_DTYPES) or (op, kind) in self._seen:
            return
        self._seen.add((op, kind))
        with _disable_current_modes():
            self.calls[op].append(Call(op, *tree_map_only(torch.Tensor, _copy, (args, kwargs))))


def _copy(tensor: torch.Tensor) -> Any:
    # Numbers arrive wrapped in such tensors, which weigh less in PyTorch's promotion than others.
    if tensor.is_cpu and not tensor.dim() and tensor.dtype in (torch.float64, torch.int64, torch.bool):
        return tensor.item()
    return tensor.detach().cpu().clone()


def _run_samples(info: Any, dtype: torch.dtype, recorder: _Recorder, with_gradients: bool) -> None:
    torch.manual_seed(0)
    # Not sample_inputs(), which looks at the stack for each sample.
    made = iter(info.sample_inputs_func(info, DEVICE, dtype, with_gradients))
    # Calls that fail have been recorded all the same; a sample of another layout ends its generator.
    with contextlib.suppress(NotImplementedError):
        for sample in islice(made, _GRADIENT_SAMPLES if with_gradients else _SAMPLES):
            with recorder, contextlib.suppress(Exception):
                result = info.op(sample.input, *sample.args, **sample.kwargs)
                if not with_gradients:
                    continue
                outputs = [t for t in tensors(sample.output_process_fn_grad(result)) if t.requires_grad]
                inputs = [t for t in tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
                torch.autograd.grad(outputs, inputs, [torch.ones_like(t) for t in outputs], allow_unused=True)


def _record() -> dict[str, list[Call]]:
    recorder = _Recorder()
    for info in (*operators_db.op_db, *foreach_infos()):
        for dtype in info.supported_dtypes("cpu").intersection(_DTYPES):
            _run_samples(info, dtype, recorder, with_gradients=False)
        if torch.float32 in info.supported_backward_dtypes("cpu"):
            _run_samples(info, torch.float32, recorder, with_gradients=True)
    return recorder.calls


def _outputs(schema: Any) -> list[Any]:
    return [a for a in schema.arguments if a.kwarg_only and a.alias_info is not None and a.alias_info.is_write]


def _variants(op: str, recorded: dict[str, list[Call]]) -> Iterator[Call]:
    """Calls of an in-place or out= overload, from those of the functional one."""
    schema = overload(op)._schema
    outputs = _outputs(schema)
    inputs = {a.name: str(a.type) for a in schema.arguments if a.name not in {output.name for output in outputs}}
    base = op.partition(".")[0].rstrip("_")
    for other in [name for name in recorded if name != op and name.partition(".")[0].rstrip("_") == base]:
        other_schema = overload(other)._schema
        known = {a.name: str(a.type) for a in other_schema.arguments}
        extra = known.keys() - inputs.keys()
        if _outputs(other_schema) or extra - {"dtype", "layout", "device", "pin_memory"} or known | inputs != known:
            continue
        for call in recorded[other]:
            kwargs = {name: value for name, value in call.kwargs.items() if name in inputs}
            if not outputs:
                yield Call(op, call.args, kwargs)
                continue
            with contextlib.suppress(Exception):
                results = call.run()
                made = [results] if len(outputs) == 1 else list(results)
                out = {a.name: tree_map(torch.empty_like, t) for a, t in zip(outputs, made, strict=True)}
                yield Call(op, call.args, kwargs | out)


def native_calls(ops: list[str]) -> dict[str, list[Call]]:
    """Calls of native operators, each of which runs on the device; of most operators with float32 tensors."""
    torch.manual_seed(0)
    random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded = _record()
        for call in written_calls():
            recorded[call.op].append(call)
        found: dict[str, list[Call]] = {}
        for op in ops:
            assert route(op) == "native", op
            made = [*recorded.get(op, ()), *_variants(op, recorded)]
            found[op] = [call for call in made if _runs(call)]
    return found


def _runs(call: Call) -> bool:
    try:
        call.run()
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return True
