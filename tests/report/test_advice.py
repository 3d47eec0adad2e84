"""Advice: given where a fact supports it, silent elsewhere; what it recommends is native and gives CPU's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from torch_neuron_sim import OpReport, coverage, fallback_policy, float64_policy, get_fallback_ops, record
from torch_neuron_sim.report import OpRow
from torch_neuron_sim.report.advice import MANY_CALLS, MANY_VALUES, RULES
from torch_neuron_sim.report.compilations import Compilations, CompileKey
from torch_neuron_sim.report.replacements import REPLACEMENTS


def rules(report: OpReport) -> dict[str, tuple[str, ...]]:
    return {each.rule: each.ops for each in report.advice}


def of(*rows: OpRow) -> OpReport:
    return OpReport(coverage.coverage_name(), "trn2.3xlarge", list(rows), 0)


def row(op: str, route: str, calls: int, reason: str = "") -> OpRow:
    return OpRow(op, op, route, reason, calls, 0, 1, (), 0)


def test_a_program_that_stays_on_the_device_gets_none() -> None:
    assert of(row("aten::add.Tensor", "native", 1000)).advice == []
    assert of().advice == []


def test_refused_dtypes_and_float64() -> None:
    with record() as report, fallback_policy("silent"), float64_policy("silent"):
        torch.ones(3, dtype=torch.complex64, device="neuron").exp()
        torch.ones(3, dtype=torch.float64, device="neuron").exp()
    assert rules(report) == {"dtype": ("aten::exp",), "float64": ("aten::exp",)}
    assert all(each.source for each in report.advice)


def test_sampling_on_the_cpu() -> None:
    with record() as report, fallback_policy("silent"):
        torch.randn(3, device="neuron")
    assert rules(report) == {"random": ("aten::normal_",)}


def test_int64_beyond_32_bits() -> None:
    assert rules(replace(of(row("aten::add.Tensor", "native", 1)), int64_overflows=1)) == {"int64": ("int64",)}


@pytest.mark.parametrize(("op", "rule"), [("aten::_local_scalar_dense", "item"), ("aten::nonzero", "synchronise")])
def test_what_waits_for_the_device_is_named_when_it_is_called_often(op: str, rule: str) -> None:
    assert rules(of(row(op, "native", MANY_CALLS))) == {rule: (op,)}
    assert of(row(op, "native", MANY_CALLS - 1)).advice == []
    assert rule not in rules(of(row(op, "fallback", MANY_CALLS, "no native kernel")))


def test_item_is_what_local_scalar_dense_means() -> None:
    x = torch.ones(3, device="neuron")
    with record() as report:
        for _ in range(MANY_CALLS):
            bool(x[0]), x[1].item(), float(x[2])
    assert rules(report)["item"] == ("aten::_local_scalar_dense",)


def test_shapes_that_multiply_keys(key: Callable[..., CompileKey]) -> None:
    keys = [key("aten::linear", (8, length), (length, 4)) for length in range(10, 10 + MANY_VALUES)]
    report = of(row("aten::linear", "native", 9))
    (advice,) = replace(report, compilations=Compilations(keys)).advice
    assert (advice.rule, advice.ops) == ("shapes", ("aten::linear",))
    assert f"dimension 1 of input 0 took {MANY_VALUES} values" in advice.text
    assert "20 October 2026" in advice.source
    assert replace(report, compilations=Compilations(keys[1:])).advice == []


def test_advice_names_a_few_operators_and_counts_the_rest() -> None:
    rows = [row(f"aten::op{number}", "fallback", 1, "its kernel does not take Double") for number in range(9)]
    (advice,) = of(*rows).advice
    assert len(advice.ops) == 9
    assert "aten::op4 and 4 more" in advice.text
    assert "op5" not in advice.text
    assert str(advice) == f"{advice.text} [{advice.source}]"


def test_rules_are_complete() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert "{ops}" in rule.text
        assert rule.source.startswith(("TorchNeuron snapshot, torch_neuronx/", "Release summary, "))


def _argmin(x: Tensor) -> Tensor:
    return (-x).max(1).indices


# The operator, and what its text says to write instead.
PAIRS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "aten::argmax": (lambda a, b, c: a.argmax(1), lambda a, b, c: a.max(1).indices),
    "aten::argmin": (lambda a, b, c: a.argmin(1), lambda a, b, c: _argmin(a)),
    "aten::maximum": (lambda a, b, c: torch.maximum(a, b), lambda a, b, c: torch.where(a > b, a, b)),
    "aten::minimum": (lambda a, b, c: torch.minimum(a, b), lambda a, b, c: torch.where(a < b, a, b)),
    "aten::mse_loss": (lambda a, b, c: functional.mse_loss(a, b), lambda a, b, c: (a - b).pow(2).mean()),
    "aten::leaky_relu": (
        lambda a, b, c: functional.leaky_relu(a, 0.1),
        lambda a, b, c: torch.where(a > 0, a, a * 0.1),
    ),
    "aten::hardtanh": (lambda a, b, c: functional.hardtanh(a, -0.5, 0.5), lambda a, b, c: a.clamp(-0.5, 0.5)),
    "aten::log2": (lambda a, b, c: c.log2(), lambda a, b, c: c.log() * (1 / math.log(2))),
    "aten::log10": (lambda a, b, c: c.log10(), lambda a, b, c: c.log() * (1 / math.log(10))),
    "aten::tan": (lambda a, b, c: a.tan(), lambda a, b, c: a.sin() / a.cos()),
    "aten::baddbmm": (
        lambda a, b, c: torch.baddbmm(a[None], b[None], c.T[None]),
        lambda a, b, c: torch.bmm(b[None], c.T[None]) + a[None],
    ),
}


def test_every_replacement_is_tried() -> None:
    assert PAIRS.keys() == REPLACEMENTS.keys()


@pytest.mark.parametrize("op", PAIRS)
def test_a_replacement_stays_on_the_device_and_gives_the_same(op: str) -> None:
    original, replacement = PAIRS[op]
    generator = torch.Generator().manual_seed(0)
    a, b, c = (torch.randn(6, 6, generator=generator) for _ in range(3))
    c = c.abs() + 0.1
    on_device = [tensor.to("neuron") for tensor in (a, b, c)]
    with record() as report, fallback_policy("silent"):
        original(*on_device)
    assert [each.ops for each in report.advice if each.rule == "replacement"] == [(report.rows[-1].name,)], op
    before = get_fallback_ops()
    with record() as report:
        found = replacement(*on_device)
    assert get_fallback_ops() == before
    assert set(REPLACEMENTS[op].ops) <= {row.op for row in report.rows}
    torch.testing.assert_close(found.cpu(), original(a, b, c))


def test_no_replacement_that_would_fall_back_itself(run_python: Callable[..., object], tmp_path: object) -> None:
    from pathlib import Path

    table = Path(str(tmp_path)) / "table.tsv"
    table.write_text("op\troute\trecorded_as\trefuses\tsource\naten::argmax\tfallback\t\t\tours\n")
    done = run_python(
        "import torch, torch_neuron_sim as t\n"
        "torch.ones(3, 3, device='neuron').argmax(1)\n"
        "print([each.rule for each in t.op_report().advice])",
        env={"TORCH_NEURON_SIM_COVERAGE": str(table), "TORCH_NEURON_SIM_FALLBACK": "silent"},
    )
    assert getattr(done, "stdout", None) == "[]\n", done
