"""torch.accelerator: each of its public functions, for programs that never name the device."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable

import pytest
import torch

accelerator = torch.accelerator
MIB = 2**20


def public_functions() -> set[str]:
    """What dir() shows and the module defines."""
    found = {name: getattr(accelerator, name) for name in dir(accelerator) if not name.startswith("_")}
    return {
        name
        for name, value in found.items()
        if callable(value)
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", "").startswith("torch.accelerator")
    }


CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    """Registers the check of the function of torch.accelerator with that name."""
    CHECKS[function.__name__] = function
    return function


@check
def current_accelerator() -> None:
    for check_available in (False, True):
        found = accelerator.current_accelerator(check_available=check_available)
        assert found == torch.device("neuron")
        assert found is not None
        assert found.index is None


@check
def is_available() -> None:
    assert accelerator.is_available() is True


@check
def device_count() -> None:
    assert accelerator.device_count() == torch.neuron.device_count() >= 2


@check
def current_device_index() -> None:
    assert accelerator.current_device_index() == 0
    with torch.neuron.device(1):
        assert accelerator.current_device_index() == 1


@check
def current_device_idx() -> None:
    with pytest.warns(FutureWarning):
        assert accelerator.current_device_idx() == 0


@check
def set_device_index() -> None:
    for device in (1, "neuron:0", torch.device("neuron", 1)):
        accelerator.set_device_index(device)
        assert (
            torch.empty(1, device="neuron").device.index == torch.neuron.current_device() == torch.device(device).index
        )
    accelerator.set_device_index(-1)  # documented as doing nothing
    assert accelerator.current_device_index() == 1
    with pytest.raises(RuntimeError, match="4 neuron device"):
        accelerator.set_device_index(4)
    with pytest.raises(ValueError, match="doesn't match the current accelerator neuron"):
        accelerator.set_device_index("cuda:0")
    assert accelerator.current_device_index() == 1


@check
def set_device_idx() -> None:
    with pytest.warns(FutureWarning):
        accelerator.set_device_idx(1)
    assert accelerator.current_device_index() == 1


@check
def device_index() -> None:
    with accelerator.device_index(2):
        assert accelerator.current_device_index() == 2
        with accelerator.device_index(None):
            assert accelerator.current_device_index() == 2
        with pytest.raises(KeyError), accelerator.device_index(1):
            raise KeyError
        assert accelerator.current_device_index() == 2
    assert accelerator.current_device_index() == 0
    with pytest.raises(RuntimeError, match="Invalid device id"), accelerator.device_index(99):
        pass
    assert accelerator.current_device_index() == 0


@check
def current_stream() -> None:
    assert isinstance(accelerator.current_stream(), torch.Stream)
    assert accelerator.current_stream().device == torch.device("neuron", 0)
    assert accelerator.current_stream(1).device == torch.device("neuron", 1)
    assert accelerator.current_stream("neuron:1") == accelerator.current_stream(1) != accelerator.current_stream(0)
    with pytest.raises(RuntimeError, match="Invalid device id"):
        accelerator.current_stream(99)


@check
def set_stream() -> None:
    previous, stream = accelerator.current_stream(1), torch.Stream("neuron:1")
    accelerator.set_stream(stream)
    assert accelerator.current_device_index() == 1
    assert accelerator.current_stream() == stream != previous
    accelerator.set_stream(previous)
    assert accelerator.current_stream() == previous


@check
def synchronize() -> None:
    tensor = torch.ones(3, device="neuron")
    for device in (None, 0, "neuron:1", torch.device("neuron", 1)):
        accelerator.synchronize(device)
    assert tensor.sum() == 3
    with pytest.raises(RuntimeError, match="Invalid device id"):
        accelerator.synchronize(99)


@check
def get_device_capability() -> None:
    for device in (None, 1, "neuron:1"):
        dtypes = accelerator.get_device_capability(device)["supported_dtypes"]
        # The dtypes of TorchNeuron's type map, and float64, whose storage is real.
        assert {torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.float64} <= dtypes
        # Documented: what can be allocated, and converted to and from the others.
        for dtype in dtypes:
            ones = torch.ones(2, device="neuron").to(dtype)
            assert (ones.real if dtype.is_complex else ones).to(torch.float32).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Invalid device id"):
        accelerator.get_device_capability(99)


@check
def Graph() -> None:
    with pytest.raises(RuntimeError, match="not supported on device type: neuron"):
        accelerator.Graph()


@check
def empty_cache() -> None:
    del_me = torch.empty(64 * MIB, dtype=torch.uint8, device="neuron:1")
    del del_me
    assert accelerator.memory_reserved(1) >= 64 * MIB
    accelerator.empty_cache()
    assert accelerator.memory_reserved(1) < 64 * MIB


@check
def empty_host_cache() -> None:
    pinned = torch.arange(5).pin_memory()
    accelerator.empty_host_cache()
    assert pinned.is_pinned()
    assert pinned.tolist() == [0, 1, 2, 3, 4]


@check
def get_memory_info() -> None:
    torch.neuron.empty_cache()
    free, total = accelerator.get_memory_info("neuron:1")
    held = torch.empty(32 * MIB, dtype=torch.uint8, device="neuron:1")
    assert accelerator.get_memory_info(1) == (free - 32 * MIB, total)
    assert held.nbytes < free <= total == torch.neuron.get_device_properties(1).total_memory


@check
def memory_stats() -> None:
    with accelerator.device_index(1):
        tensor = torch.ones(3, device="neuron")
        assert accelerator.memory_stats() == accelerator.memory_stats(1) == accelerator.memory_stats(tensor.device)
    assert accelerator.memory_stats()["allocation.all.allocated"] >= 0


@check
def memory_allocated() -> None:
    before = accelerator.memory_allocated(1)
    held = torch.empty(4 * MIB, dtype=torch.uint8, device="neuron:1")
    assert accelerator.memory_allocated(1) - before == held.nbytes


@check
def max_memory_allocated() -> None:
    accelerator.reset_peak_memory_stats(1)
    before = accelerator.max_memory_allocated(1)
    torch.empty(4 * MIB, dtype=torch.uint8, device="neuron:1")
    assert accelerator.max_memory_allocated(1) - before == 4 * MIB


@check
def memory_reserved() -> None:
    held = torch.empty(4 * MIB, dtype=torch.uint8, device="neuron:1")
    assert accelerator.memory_reserved(1) >= accelerator.memory_allocated(1) >= held.nbytes


@check
def max_memory_reserved() -> None:
    torch.empty(100 * MIB, dtype=torch.uint8, device="neuron:1")
    accelerator.empty_cache()
    assert accelerator.max_memory_reserved(1) >= 100 * MIB > accelerator.memory_reserved(1)


@check
def reset_peak_memory_stats() -> None:
    torch.empty(100 * MIB, dtype=torch.uint8, device="neuron:1")
    accelerator.empty_cache()
    accelerator.reset_peak_memory_stats(1)
    assert accelerator.max_memory_allocated(1) == accelerator.memory_allocated(1)
    assert accelerator.max_memory_reserved(1) == accelerator.memory_reserved(1)


@check
def reset_accumulated_memory_stats() -> None:
    torch.empty(MIB, dtype=torch.uint8, device="neuron:1")
    accelerator.reset_accumulated_memory_stats(1)
    stats = accelerator.memory_stats(1)
    assert stats["allocated_bytes.all.allocated"] == stats["allocated_bytes.all.freed"] == 0


def test_every_public_function_has_a_check() -> None:
    assert CHECKS.keys() == public_functions()


@pytest.mark.parametrize("name", CHECKS)
def test_function(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CHECKS[name]()


@pytest.mark.parametrize(
    "name",
    ["memory_stats", "memory_allocated", "max_memory_reserved", "get_memory_info", "reset_peak_memory_stats"],
)
def test_memory_functions_refuse_what_is_no_device(name: str) -> None:
    torch.ones(1, device="neuron")
    with pytest.raises(RuntimeError, match="Invalid device id"):
        getattr(accelerator, name)(99)
    with pytest.raises(ValueError, match="doesn't match"):
        getattr(accelerator, name)("cuda:0")
