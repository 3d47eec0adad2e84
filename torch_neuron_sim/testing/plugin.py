"""A pytest plugin: ``pytest_plugins = ["torch_neuron_sim.testing.plugin"]`` in a conftest.py.

- fixture ``neuron_device``: ``torch.device("neuron")``;
- marker ``no_fallback``: the test fails when an op falls back to CPU (or is unsupported on the real device);
  ``no_fallback(allow=["aten::argmax.out"])`` lets some through, by the names that get_fallback_ops() uses.
"""

from collections.abc import Iterator

import pytest
import torch

import torch_neuron_sim
from torch_neuron_sim.report import text

MARKER = "no_fallback"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(allow=[]): fails when an op, other than those allowed, does not run on the neuron device"
    )


@pytest.fixture
def neuron_device() -> torch.device:
    """The simulated device, without an index."""
    return torch.device("neuron")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return (yield)
    allowed = _allowed(marker)
    with torch_neuron_sim.record() as report:
        result = yield
    rows = [row for row in report.rows if row.route in ("fallback", "unsupported") and row.recorded_as not in allowed]
    if rows:
        table = text.render(text.totals(rows), rows)
        pytest.fail(f"{len(rows)} op(s) did not run on the neuron device\n{table}", pytrace=False)
    return result


def _allowed(marker: pytest.Mark) -> frozenset[str]:
    unknown = set(marker.kwargs) - {"allow"}
    if marker.args or unknown:
        raise pytest.UsageError(f"{MARKER} takes one keyword, allow=[names]; got {marker.args or sorted(unknown)}")
    return frozenset(marker.kwargs.get("allow", ()))
