"""``torch_neuronx._C`` tells of the simulated compile cache, and clears it."""

from __future__ import annotations

from types import ModuleType

import torch

KEYS = """
total_entries in_memory_hits in_memory_misses persistent_hits persistent_misses cache_hits cache_misses hit_rate
memory_usage_bytes total_compilation_time_ms evictions_performed total_compilations max_cache_size_bytes
max_cache_entries memory_utilization_ratio
"""


def test_statistics_have_torchneurons_keys_and_count(torch_neuronx: ModuleType) -> None:
    x = torch.ones(6, 7, device="neuron")
    torch_neuronx._C._clear_compilation_cache()
    for _ in range(4):
        x.sin()
    stats = torch_neuronx._C._get_compilation_cache_stats()
    assert stats.keys() == set(KEYS.split())
    assert (stats["total_entries"], stats["total_compilations"], stats["cache_misses"]) == (1, 1, 1)
    assert (stats["cache_hits"], stats["hit_rate"]) == (3, 0.75)


def test_clearing_makes_the_next_call_compile(torch_neuronx: ModuleType) -> None:
    x = torch.ones(6, 7, device="neuron")
    for clear in (torch_neuronx._C._clear_compilation_cache, torch_neuronx._C._clear_compilation_memory_cache):
        x.sin()
        clear()
        stats = torch_neuronx._C._get_compilation_cache_stats()
        assert (stats["total_entries"], stats["cache_hits"], stats["hit_rate"]) == (0, 0, 0)
        x.sin()
        assert torch_neuronx._C._get_compilation_cache_stats()["total_compilations"] == 1
