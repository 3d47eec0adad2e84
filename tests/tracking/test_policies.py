"""Fallback, float64 and RNG policies: set, restored, read from the environment, and in force everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim import FallbackWarning, fallback_policy, float64_policy, get_fallback_ops, rng_mode
from torch_neuron_sim.tracking.policies import environment_values

RunPython = Callable[..., Any]
Policy = Callable[..., Any]

VALUES: dict[Policy, tuple[str, tuple[str, ...]]] = {
    fallback_policy: ("TORCH_NEURON_SIM_FALLBACK", ("warn", "silent", "error")),
    float64_policy: ("TORCH_NEURON_SIM_FLOAT64", ("warn", "silent", "error", "exact")),
    rng_mode: ("TORCH_NEURON_SIM_RNG", ("shared", "device")),
}


@pytest.mark.parametrize("policy", VALUES)
def test_call_sets_and_with_block_restores(policy: Policy) -> None:
    default, *others = VALUES[policy][1]
    assert policy() == default
    for value in (*others, default):
        policy(value)
        assert policy() == value
    with policy(others[0]) as nothing:
        assert nothing is None
        assert policy() == others[0]
        with policy(others[-1]):
            assert policy() == others[-1]
        assert policy() == others[0]
    assert policy() == default
    with pytest.raises(KeyError), policy(others[0]):
        raise KeyError
    assert policy() == default


@pytest.mark.parametrize("policy", VALUES)
def test_bad_value_is_named_with_the_legal_ones(policy: Policy) -> None:
    with pytest.raises(ValueError) as caught:
        policy("loud")
    assert "'loud'" in str(caught.value)
    assert policy.__name__ in str(caught.value)
    assert all(value in str(caught.value) for value in VALUES[policy][1])
    assert policy() == VALUES[policy][1][0]


def test_environment(run_python: RunPython) -> None:
    code = "import torch_neuron_sim as t; print(t.fallback_policy(), t.float64_policy(), t.rng_mode())"
    done = run_python(code, env={variable: values[-1] for variable, values in VALUES.values()})
    assert done.stdout.split() == ["error", "exact", "device"], done.stderr


@pytest.mark.parametrize("policy", VALUES)
def test_values_from_the_environment(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    variable, values = VALUES[policy]

    def read() -> str:
        return next(value for known, value in environment_values().items() if known.variable == variable)

    for value in values:
        monkeypatch.setenv(variable, value)
        assert read() == value
    monkeypatch.setenv(variable, "")
    assert read() == values[0]
    monkeypatch.delenv(variable)
    assert read() == values[0]
    monkeypatch.setenv(variable, "loud")
    with pytest.raises(ValueError) as caught:
        read()
    assert str(caught.value).startswith(f"{variable}: 'loud'")
    assert all(value in str(caught.value) for value in values)


def test_bad_environment_stops_the_import(run_python: RunPython) -> None:
    environment = {"TORCH_NEURON_SIM_FALLBACK": "loud", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = run_python("import torch_neuron_sim", env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ValueError: TORCH_NEURON_SIM_FALLBACK: 'loud'")


def test_error_policy_raises_before_anything_changed() -> None:
    x = torch.full((3,), 1.5, device="neuron")
    state = torch.get_rng_state()
    with fallback_policy("error"):
        for _ in range(2):
            for function in (x.floor_, x.argmax, x.normal_, lambda: torch.floor(x, out=x)):
                with pytest.raises(
                    RuntimeError, match=r"would fall back to CPU \(no native kernel\).*policy is 'error'"
                ):
                    function()
        assert (x * 2).tolist() == [3] * 3
        assert x.view(3, 1).cpu().shape == (3, 1)
    assert x.tolist() == [1.5] * 3
    assert torch.equal(torch.get_rng_state(), state)
    assert get_fallback_ops() == []


def test_error_policy_names_the_op_and_the_way_out() -> None:
    with fallback_policy("error"), pytest.raises(RuntimeError) as caught:
        torch.ones(3, device="neuron").argmax()
    assert str(caught.value).startswith("aten::argmax.out ")
    assert "fallback_policy('warn')" in str(caught.value)
    assert "TORCH_NEURON_SIM_FALLBACK=warn" in str(caught.value)


def test_error_policy_holds_in_backward() -> None:
    with fallback_policy("silent"):
        x = torch.ones(3, device="neuron", requires_grad=True)
        y = torch.nn.functional.elu(x).sum()
    with fallback_policy("error"), pytest.raises(RuntimeError, match=r"aten::elu_backward\.grad_input would fall back"):
        y.backward()


def test_error_policy_leaves_views_and_host_tensors_alone() -> None:
    with fallback_policy("error"):
        torch.view_as_real(torch.view_as_complex(torch.ones(2, 2, device="neuron"))).unfold(0, 1, 1)
        torch.ones(3).floor()
    assert get_fallback_ops() == []


def test_silent_records_without_a_warning() -> None:
    with fallback_policy("silent"), warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ones(3, device="neuron").argmax()
    assert get_fallback_ops() == ["aten::argmax.out"]


def test_only_for_unimplemented_ops_means_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS", "1")
    x = torch.ones(3, device="neuron")
    with pytest.warns(FallbackWarning):
        x.floor()  # no kernel at all: falls back as ever
    z = torch.ones(3, dtype=torch.complex64, device="neuron")
    # There is a kernel for add, and it refuses complex.
    with pytest.raises(RuntimeError) as caught:
        z + z
    assert str(caught.value).startswith(
        "CPU fallback disabled because TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1. "
        "Operation aten::add.Tensor failed: "
    )
    assert "ComplexFloat" in str(caught.value)
    assert get_fallback_ops() == ["aten::floor.out"]
    monkeypatch.setenv("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS", "0")
    with pytest.warns(FallbackWarning, match=r"aten::add\.Tensor"):
        assert (z + z).tolist() == [2 + 0j] * 3


def test_rng_mode_decides_where_sampling_draws_from() -> None:
    with fallback_policy("silent"):
        torch.manual_seed(3)
        expected = [torch.randn(2), torch.rand(2), torch.randn(2)]
        torch.manual_seed(3)
        found = [torch.randn(2, device="neuron"), torch.rand(2), torch.randn(2, device="neuron:1")]
        assert all(torch.equal(one.cpu(), other) for one, other in zip(found, expected, strict=True))
        with rng_mode("device"):
            torch.manual_seed(3)
            own = [torch.randn(2, device="neuron"), torch.randn(2), torch.randn(2, device="neuron:1")]
            assert torch.equal(own[1], expected[0])  # the host's stream did not move
            torch.get_device_module("neuron").manual_seed_all(7)
            again = torch.randn(2, device="neuron")
            dropped = torch.nn.functional.dropout(torch.ones(64, device="neuron"), 0.5)
            torch.get_device_module("neuron").manual_seed_all(7)
            assert torch.equal(torch.randn(2, device="neuron"), again)
            assert torch.equal(torch.nn.functional.dropout(torch.ones(64, device="neuron"), 0.5), dropped)
    assert torch_neuron_sim.rng_mode() == "shared"
