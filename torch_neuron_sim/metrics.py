"""Counters of the simulated compile cache, as ``torch_neuronx.metrics`` gives them.

They count while metrics are enabled: from the start with TORCH_NEURONX_METRICS_ENABLED, else from set_enabled(True) on.
"""

import os
from collections.abc import Iterable
from typing import Any

from torch_neuron_sim import _C

VARIABLE = "TORCH_NEURONX_METRICS_ENABLED"

# Counter -> key of _C.compile_cache_stats().
_COUNTERS = {
    "CompilationCache.InMemoryHits": "in_memory_hits",
    "CompilationCache.InMemoryMisses": "in_memory_misses",
    "CompilationCache.PersistentHits": "persistent_hits",
    "CompilationCache.PersistentMisses": "persistent_misses",
    "CompilationCache.Evictions": "evictions",
    "CompilationCache.TotalCompilations": "total_compilations",
}

__all__ = [
    "clear_all",
    "clear_counters",
    "clear_metrics",
    "get_compilation_metrics",
    "get_counter_names",
    "get_counter_value",
    "get_metric_data",
    "get_metric_names",
    "is_enabled",
    "report",
    "report_filtered",
    "set_enabled",
]


class _Counting:
    """What the extension counted while counting was on."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.values = dict.fromkeys(_COUNTERS, 0)
        self._seen = dict.fromkeys(_COUNTERS, 0)

    def absorb(self) -> None:
        now = self._now()
        for name in _COUNTERS if self.enabled else ():
            # Less than before: the cache was cleared, and counts from 0 again.
            self.values[name] += now[name] - (self._seen[name] if now[name] >= self._seen[name] else 0)
        self._seen = now

    @staticmethod
    def _now() -> dict[str, int]:
        stats = _C.compile_cache_stats()
        return {name: stats[key] for name, key in _COUNTERS.items()}


_counting = _Counting(os.environ.get(VARIABLE, "").lower() in ("1", "true", "yes"))


def absorb() -> None:
    """Takes over what the compile cache has counted; before it is cleared."""
    _counting.absorb()


def is_enabled() -> bool:
    """Whether metrics are collected."""
    return _counting.enabled


def set_enabled(enabled: bool) -> None:
    """Begins or ends collecting; what was collected stays."""
    _counting.absorb()
    _counting.enabled = enabled


def get_counter_names() -> list[str]:
    """The counters that have counted something, as ``CompilationCache.TotalCompilations``."""
    _counting.absorb()
    return [name for name, value in _counting.values.items() if value]


def get_counter_value(name: str) -> int | None:
    """The value of a counter: 0 when it has counted nothing, None when metrics were never enabled or there is no such
    counter.
    """
    _counting.absorb()
    value = _counting.values.get(name)
    return value if value or _counting.enabled else None


def get_metric_names() -> list[str]:
    """None: TorchNeuron samples compile times and sizes of compiled programs, and here nothing is compiled."""
    return []


def get_metric_data(name: str) -> dict[str, Any] | None:
    """None: see get_metric_names."""
    return None


def get_compilation_metrics() -> dict[str, int]:
    """All counters by name, those at 0 as well."""
    _counting.absorb()
    return dict(_counting.values)


def report() -> str:
    """The counters as text."""
    return report_filtered(get_counter_names(), get_metric_names())


def report_filtered(counter_names: Iterable[str] | None = None, metric_names: Iterable[str] | None = None) -> str:
    """The counters named, as text. There are no metrics to name: see get_metric_names."""
    _counting.absorb()
    named = [name for name in counter_names or () if name in _counting.values]
    return "\n".join(f"Counter: {name}\n  Value: {_counting.values[name]}" for name in named)


def clear_counters() -> None:
    """Sets the counters to 0."""
    _counting.absorb()
    _counting.values = dict.fromkeys(_COUNTERS, 0)


def clear_metrics() -> None:
    """Nothing to clear: see get_metric_names."""


def clear_all() -> None:
    """Clears counters and metrics."""
    clear_counters()
    clear_metrics()
