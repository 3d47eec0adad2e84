"""What docs/testing.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text()
PARITY, MODULE = re.findall(r"```python\n(import .*?)```", PAGE, re.DOTALL)
(SAID,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)

pytest_plugins = ["pytester"]


def test_the_parity_example_fails_as_it_says() -> None:
    with pytest.raises(AssertionError) as caught:
        exec(PARITY, {"__name__": "example"})
    assert SAID in str(caught.value).splitlines()


def test_the_plugin_example_passes(pytester: pytest.Pytester) -> None:
    pytester.makeconftest('pytest_plugins = ["torch_neuron_sim.testing.plugin"]')
    pytester.makepyfile(MODULE)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "ignore").assert_outcomes(passed=2)
