"""Writes torch_neuron_sim/coverage/compute_dtypes.tsv: the dtypes that CPU's kernels of native operators lack.

    python tests/parity/compute_dtypes.py [--check]

Runs every native operator with every dtype of the device, with the table out of force, and looks for a dtype that each
call CPU refuses can be computed in. ``--check`` writes nothing, and returns 1 when the file says something else.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

import torch

torch.set_num_threads(1)

from harness.call import Call, overload  # noqa: E402
from harness.calls import native_calls  # noqa: E402
from harness.native_dtypes import DTYPES, calls_with, in_dtype, is_of_one_dtype, kept_arguments, refusal  # noqa: E402
from harness.result_dtypes import dtypes_of, exceptions, expected  # noqa: E402
from harness.routes import table  # noqa: E402

import torch_neuron_sim  # noqa: E402
from torch_neuron_sim import _C  # noqa: E402
from torch_neuron_sim.coverage import compute_dtypes  # noqa: E402
from torch_neuron_sim.coverage.compute_dtypes import ComputeDtype  # noqa: E402

HEADER = """\
# Dtypes that the device has and CPU's kernels of native operators lack, with the dtype that these are computed in
# instead. Written by tests/parity/compute_dtypes.py, from the kernels of PyTorch {version}.
# Columns, separated by a tab:
#   op           the dispatcher's full name
#   dtypes       separated by commas
#   computed_in  results are cast back, as PyTorch's promotion says for the original dtypes
#   keeps        arguments that keep their dtype, such as indices, separated by commas
#   results      dtypes of results, separated by commas; empty: that of the operands
#   when         empty: where CPU's kernel raises NotImplementedError, which is found by asking it; always: where it
#                raises something else
"""
# What CPU's kernels say of a dtype that they lack, other than by NotImplementedError.
LACKS = ("Promotion for Float8 Types is not supported", "topk does not support bool dtypes on CPU")
# Kernels of this package, whatever they raise.
OURS = ("aten::_fused_rms_norm_backward", "aten::batch_norm_")
# Their results on integers are integers, or linear in them: float32 would lose bits of large ones.
LINEAR = (
    "aten::convolution_backward",
    "aten::histc",
    "aten::lerp",
    "aten::lerp_",
    "aten::nll_loss_forward",
    "aten::nll_loss_backward",
)


def _error(call: Call) -> Exception | None:
    try:
        call.run()
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return error
    return None


def _candidates(op: str, dtype: torch.dtype) -> list[torch.dtype]:
    """Integers where there is such a kernel. Truth values as int32: a count does not wrap, and no index is of it."""
    floating = torch.float64 if op.partition(".")[0] in LINEAR else torch.float32
    if dtype.is_floating_point:
        return [torch.float32]
    return [*([torch.int32] if dtype == torch.bool else []), torch.int64, floating]


def _says_so(op: str, error: Exception) -> bool:
    if op.startswith(OURS):
        return "Expected out tensor" not in str(error)
    return any(text in str(error) for text in LACKS)


def _lacking(op: str, dtype: torch.dtype, name: str, calls: Sequence[Call]) -> tuple[list[Call], bool]:
    """The calls that CPU has no kernel for, and whether it says so in another way than by NotImplementedError."""
    keeps = kept_arguments(calls)
    lacking, otherwise = [], False
    for call in calls_with(dtype, calls):
        error = _error(call)
        if error is None or refusal(op, name, error):
            continue
        says_so = is_of_one_dtype(call, keeps) and _says_so(op, error)
        if isinstance(error, NotImplementedError) or says_so:
            lacking.append(call)
            otherwise |= says_so
    return lacking, otherwise


def _results(calls: Sequence[Call], dtype: torch.dtype, candidate: torch.dtype) -> tuple[str, ...]:
    """Dtypes of results that are not the operands', whatever the other arguments say."""
    op, found = calls[0].op, set()
    if any(argument.is_write for argument in overload(op)._schema.arguments):
        return ()
    keeps = kept_arguments(calls)
    for call in calls:
        converted = in_dtype(call, dtype, candidate, keeps)
        if _error(converted) is None and not isinstance(result := converted.run(), list):
            computed = dtypes_of(result)
            found.add(exceptions(expected(call, dtype, computed, candidate, keeps), dtype, computed, candidate))
    return found.pop() if len(found) == 1 else ()


def _rows(op: str, calls: Sequence[Call]) -> list[ComputeDtype]:
    keeps = kept_arguments(calls)
    found: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for name, dtype in DTYPES.items():
        lacking, otherwise = _lacking(op, dtype, name, calls)
        if not lacking:
            continue
        for candidate in _candidates(op, dtype):
            errors = [_error(in_dtype(call, dtype, candidate, keeps)) for call in lacking]
            if candidate != dtype and None in errors and not any(isinstance(e, NotImplementedError) for e in errors):
                results = _results(lacking, dtype, candidate)
                found.setdefault((str(candidate).removeprefix("torch."), results, otherwise), []).append(name)
                break
        else:
            raise SystemExit(f"{op}: CPU lacks {name}, and no dtype does for it: {lacking[0]}")
    return [
        ComputeDtype(op, tuple(names), candidate, keeps if any(map(_may_be_kept, names)) else (), results, otherwise)
        for (candidate, results, otherwise), names in found.items()
    ]


def _may_be_kept(name: str) -> bool:
    return not DTYPES[name].is_floating_point


def _text() -> str:
    ops = sorted(op for op, route in table().items() if route == "native")
    lines = [row.line() for op, calls in native_calls(ops).items() for row in _rows(op, calls)]
    header = HEADER.format(version=".".join(torch.__version__.split(".")[:2]))
    return header + "\n".join(["\t".join(compute_dtypes.COLUMNS), *lines, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    _C.set_compute_dtypes([])
    torch_neuron_sim.fallback_policy("silent")
    torch_neuron_sim.float64_policy("exact")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = _text()
    if not options.check:
        compute_dtypes.FILE.write_text(text)
        return 0
    lines, found = (set(each.splitlines()) for each in (text, compute_dtypes.FILE.read_text()))
    sys.stdout.writelines(
        f"{sign} {line}\n" for sign, part in (("-", found - lines), ("+", lines - found)) for line in sorted(part)
    )
    return int(lines != found)


if __name__ == "__main__":
    sys.exit(main())
