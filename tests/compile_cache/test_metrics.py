"""``torch_neuron_sim.metrics``: counts while it is enabled, whatever happens to the cache meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest
import torch

from torch_neuron_sim import compile_cache, metrics

COMPILATIONS = "CompilationCache.TotalCompilations"
HITS = "CompilationCache.InMemoryHits"

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _off_and_empty() -> Iterator[None]:
    metrics.set_enabled(False)
    metrics.clear_all()
    compile_cache.clear()
    yield
    metrics.set_enabled(False)
    metrics.clear_all()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.ones(5, 7, device="neuron")


def test_off_by_default_nothing_is_counted(x: torch.Tensor) -> None:
    x.sin()
    assert not metrics.is_enabled()
    assert metrics.get_counter_names() == []
    assert metrics.get_counter_value(COMPILATIONS) is None
    assert metrics.report() == ""


def test_counts_compilations_and_hits_while_enabled(x: torch.Tensor) -> None:
    x.cos()
    metrics.set_enabled(True)
    assert metrics.get_counter_value(COMPILATIONS) == 0
    x.sin()
    x.sin()
    x[1:].sin()
    x.cos()
    assert metrics.get_counter_value(COMPILATIONS) == 2
    assert metrics.get_counter_value(HITS) == 2
    metrics.set_enabled(False)
    x.tanh()
    assert metrics.get_counter_value(COMPILATIONS) == 2
    assert metrics.get_compilation_metrics()["CompilationCache.InMemoryMisses"] == 2
    assert set(metrics.get_counter_names()) == {COMPILATIONS, HITS, "CompilationCache.InMemoryMisses"}


def test_counters_outlive_the_cache(x: torch.Tensor) -> None:
    metrics.set_enabled(True)
    x.sin()
    compile_cache.clear()
    x.sin()
    assert metrics.get_counter_value(COMPILATIONS) == 2
    metrics.clear_counters()
    assert metrics.get_counter_value(COMPILATIONS) == 0
    x.sin()
    assert metrics.get_counter_value(HITS) == 1


def test_reports_are_text(x: torch.Tensor) -> None:
    metrics.set_enabled(True)
    x.sin()
    x.sin()
    assert metrics.report_filtered([HITS, "NoSuchCounter"]) == f"Counter: {HITS}\n  Value: 1"
    assert f"Counter: {COMPILATIONS}\n  Value: 1" in metrics.report()


def test_there_are_no_samples_as_nothing_is_compiled() -> None:
    assert metrics.get_metric_names() == []
    assert metrics.get_metric_data("CompilationCache.CompilationTime") is None
    assert metrics.get_counter_value("CompilationCache.NoSuch") is None


@pytest.mark.parametrize(("value", "enabled"), [("1", True), ("TRUE", True), ("yes", True), ("0", False), ("", False)])
def test_the_environment_enables_it_from_the_start(fresh_python: RunPython, value: str, enabled: bool) -> None:
    code = """
import torch, torch_neuron_sim
torch.ones(2, device="neuron").sin()
from torch_neuron_sim import metrics
print(metrics.is_enabled(), bool(metrics.get_counter_value("CompilationCache.TotalCompilations")))
"""
    done = fresh_python(code, env={"TORCH_NEURONX_METRICS_ENABLED": value})
    assert done.stdout == f"{enabled} {enabled}\n", done.stderr
