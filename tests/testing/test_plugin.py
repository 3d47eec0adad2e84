"""The pytest plugin: the fixture and the marker, seen from a user's test file."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

USER_TESTS = """
import pytest, torch

def test_device(neuron_device):
    assert torch.ones(2, device=neuron_device).device == torch.device("neuron:0")

@pytest.mark.no_fallback
def test_native(neuron_device):
    assert (torch.ones(2, device=neuron_device) + 1).sum().item() == 4

@pytest.mark.no_fallback
def test_falls_back(neuron_device):
    torch.ones(2, device=neuron_device).argmax()

@pytest.mark.no_fallback(allow=["aten::argmax.out"])
def test_allowed(neuron_device):
    torch.ones(2, device=neuron_device).argmax()

@pytest.mark.no_fallback(allow=["aten::argmax.out"])
def test_not_allowed(neuron_device):
    torch.ones(2, device=neuron_device).floor()

@pytest.mark.no_fallback("aten::argmax.out")
def test_wrong_use():
    pass
"""


def test_marker_and_fixture(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["torch_neuron_sim.testing.plugin"]')
    pytester.makepyfile(USER_TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "-W", "ignore")
    result.assert_outcomes(passed=3, failed=3)
    text = result.stdout.str()
    assert "1 op(s) did not run on the neuron device" in text
    assert "aten::floor.out" in text
    assert "no_fallback takes one keyword, allow=[names]" in text
