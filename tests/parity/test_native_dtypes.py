"""Operators that the table lists as native take every dtype that the device has, also where the CPU's kernel does not.

Truth is the CPU's own kernel in a dtype that it has and that holds the same numbers. The calls are those that samples
of PyTorch's databases make.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_flatten

import torch_neuron_sim
from torch_neuron_sim.coverage import compute_dtypes

# PyTorch infers float32 for a mean of integers, and the integers' dtype for a sum: the latter is returned for both.
REDUCTION_DECIDES = ("aten::nll_loss_forward", "aten::nll_loss_backward")


@pytest.fixture(scope="module")
def native(harness: Any) -> Iterator[Any]:
    """The modules ``harness.native_dtypes`` and ``harness.result_dtypes``; ``calls`` of native operators by name."""
    calls, written, dtypes, results = (
        importlib.import_module(f"{harness.__name__}.{name}")
        for name in ("calls", "written_calls", "native_dtypes", "result_dtypes")
    )
    with torch_neuron_sim.fallback_policy("silent"), torch_neuron_sim.float64_policy("exact"):
        ops = [op for op, route in harness.routes.table().items() if route == "native"]
        yield SimpleNamespace(
            calls=calls.native_calls(ops), not_computed=written.NOT_COMPUTED, dtypes=dtypes, results=results
        )


@pytest.fixture(autouse=True)
def _policies() -> Iterator[None]:
    """Of each test: those of the fixture above end with the first one."""
    with torch_neuron_sim.fallback_policy("silent"), torch_neuron_sim.float64_policy("exact"):
        yield


def _error(call: Any) -> Exception | None:
    try:
        call.run()
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return error
    return None


def test_every_native_operator_is_called(native: Any) -> None:
    assert [op for op, calls in native.calls.items() if not calls and op not in native.not_computed] == []
    assert len(native.calls) == 470


def test_every_dtype_works_or_is_refused_on_purpose(native: Any) -> None:
    wrong, used = set(), set()
    for op, calls in native.calls.items():
        for name, dtype in native.dtypes.DTYPES.items():
            for error in filter(None, map(_error, native.dtypes.calls_with(dtype, calls))):
                reason = native.dtypes.refusal(op, name, error)
                used.add(reason)
                if reason is None:
                    wrong.add(f"{op} {name}: {error!r:.200}")
    assert not wrong, "\n".join(sorted(wrong))
    assert used == set(native.dtypes.refusals()), "a refusal that nothing meets"


def _truth(native: Any, row: Any, call: Any, dtype: torch.dtype, keeps: tuple[str, ...]) -> Any:
    """What CPU gives in the dtype that the row names, cast to the dtypes that the results have to have."""
    computed_in = getattr(torch, row.computed_in)
    converted = native.dtypes.in_dtype(call, dtype, computed_in, keeps)
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key(call.op, "CPU")
    result = converted.run("cpu" if has_kernel else "neuron")
    if isinstance(result, list):  # of operators over lists
        return [each.to(dtype) if each.dtype == computed_in else each for each in result]
    written = any(argument.is_write for argument in native.results.overload(call.op)._schema.arguments)
    computed = native.results.dtypes_of(result)
    by_rule = tuple(dtype if each == computed_in else each for each in computed)
    wanted = (
        by_rule
        if written or not row.results
        else tuple(getattr(torch, name) if name else rule for name, rule in zip(row.results, by_rule, strict=True))
    )
    if not isinstance(result, tuple):
        return result.to(wanted[0])
    return tuple(each if want is None else each.to(want) for each, want in zip(result, wanted, strict=True))


def _bits(tree: Any) -> list[Any]:
    leaves = (leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor))
    return [(t.dtype, t.shape, t.contiguous().flatten().view(torch.uint8).tolist()) for t in leaves]


def test_values_are_those_of_cpu_in_the_dtype_that_the_table_names(native: Any) -> None:
    wrong, count = [], 0
    for row in compute_dtypes.read():
        calls = native.calls[row.op]
        keeps = native.dtypes.kept_arguments(calls)
        for name in row.dtypes:
            dtype = getattr(torch, name)
            for call in native.dtypes.calls_with(dtype, calls):
                if _runs_on_cpu(call) or _error(call):
                    continue
                torch.manual_seed(0)
                found = call.run()
                torch.manual_seed(0)
                count += 1
                if _bits(found) != _bits(_truth(native, row, call, dtype, keeps)):
                    wrong.append(f"{row.op} {name}")
    assert not wrong, sorted(set(wrong))
    assert count > 3000


def _runs_on_cpu(call: Any) -> bool:
    try:
        call.run("cpu")
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return True


def test_what_cpu_has_is_computed_as_on_cpu(native: Any) -> None:
    """Also of operators and dtypes with a row: those rows are for calls that the CPU refuses."""
    wrong, count = set(), 0
    for row in compute_dtypes.read():
        for name in () if row.always else row.dtypes:
            for call in native.dtypes.calls_with(getattr(torch, name), native.calls[row.op]):
                if not torch._C._dispatch_has_kernel_for_dispatch_key(call.op, "CPU") or not _runs_on_cpu(call):
                    continue
                torch.manual_seed(0)
                found = call.run()
                torch.manual_seed(0)
                count += 1
                if _bits(found) != _bits(call.run("cpu")):
                    wrong.add(f"{row.op} {name}")
    assert not wrong
    assert count > 100


def test_results_have_the_dtypes_that_pytorch_infers(native: Any) -> None:
    wrong = set()
    for row in compute_dtypes.read():
        calls = native.calls[row.op]
        for name in row.dtypes:
            for call in native.dtypes.calls_with(getattr(torch, name), calls):
                wanted = native.results.inferred(call)
                if wanted is None or row.op in REDUCTION_DECIDES or _error(call):
                    continue
                found = native.results.dtypes_of(call.run())
                if any(None is not one != other is not None for one, other in zip(found, wanted, strict=False)):
                    wrong.add(f"{row.op} {name}: {found}, not {wanted}")
    assert not wrong, "\n".join(sorted(wrong))


def test_the_table_is_what_cpu_lacks() -> None:
    """On the torch that the table was made with; newer ones may lack less."""
    made_with = compute_dtypes.FILE.read_text().split("from the kernels of PyTorch ")[1].split(".\n")[0]
    script = Path(__file__).with_name("compute_dtypes.py")
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    missing = [line for line in done.stdout.splitlines() if line.startswith("+")]
    assert done.stdout == "" if torch.__version__.startswith(f"{made_with}.") else not missing, done.stdout
