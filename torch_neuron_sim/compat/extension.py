"""``torch_neuronx._C``: the functions of TorchNeuron's extension that programs and its own tests call."""

from torch_neuron_sim import _C, compile_cache
from torch_neuron_sim.compat.version import VERSION
from torch_neuron_sim.tracking import operations


def version() -> str:
    return VERSION


def _log_executed_op(name: str) -> None:
    """Adds a name to get_executed_ops()."""
    operations.note_executed(name)


def _log_offloaded_op(name: str) -> None:
    """Adds a name to get_fallback_ops()."""
    operations.note_fallback(name)


def _get_compilation_cache_stats() -> dict[str, int | float]:
    """The simulated compile cache, with TorchNeuron's keys. Sizes and times are 0, because nothing is compiled; a limit
    of 0 means that there is none.
    """
    stats = _C.compile_cache_stats()
    hits = stats["in_memory_hits"] + stats["persistent_hits"]
    misses = stats["in_memory_misses"] - stats["persistent_hits"]
    return {
        "total_entries": stats["total_entries"],
        "in_memory_hits": stats["in_memory_hits"],
        "in_memory_misses": stats["in_memory_misses"],
        "persistent_hits": stats["persistent_hits"],
        "persistent_misses": stats["persistent_misses"],
        "cache_hits": hits,
        "cache_misses": misses,
        "hit_rate": hits / (hits + misses) if hits + misses else 0.0,
        "memory_usage_bytes": 0,
        "total_compilation_time_ms": 0,
        "evictions_performed": stats["evictions"],
        "total_compilations": stats["total_compilations"],
        "max_cache_size_bytes": 0,
        "max_cache_entries": 0,
        "memory_utilization_ratio": 0.0,
    }


def _clear_compilation_memory_cache() -> None:
    """Forgets the keys in memory: the next call of each compiles, or is found on disk."""
    compile_cache.clear()


def _clear_compilation_cache() -> None:
    """The same, and removes the simulator's cache file, if TORCH_NEURONX_NEFF_CACHE_DIR asked for one."""
    compile_cache.clear()
    compile_cache.remove_file()
