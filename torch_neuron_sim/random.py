"""Random number generators of the devices.

In the mode ``shared`` (see torch_neuron_sim.rng_mode) they all act on the CPU's default generator, seed and state, as
sampling on TorchNeuron does; in the mode ``device`` each has a stream of its own.
"""

from collections.abc import Iterable

import torch

from torch_neuron_sim import _C
from torch_neuron_sim.device import Device, device_index


def default_generators() -> tuple[torch.Generator, ...]:
    """The default generator of each device."""
    return tuple(_C.default_generator(index) for index in range(_C.device_count()))


def get_rng_state(device: Device = None) -> torch.Tensor:
    """State of a device's default generator: a uint8 CPU tensor of the size that CPU generators have."""
    return _C.default_generator(device_index(device)).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state(new_state: torch.Tensor, device: Device = None) -> None:
    """Sets the state of a device's default generator. TypeError for anything but a uint8 CPU tensor, RuntimeError for a
    state of the wrong size.
    """
    if new_state.device.type != "cpu" or new_state.dtype != torch.uint8:
        raise TypeError(
            f"set_rng_state: the state has to be a uint8 tensor on cpu, got {new_state.dtype} on {new_state.device}; "
            "load checkpoints with map_location='cpu', or move the state with .cpu()"
        )
    # A copy, because PyTorch's generators read a state from the start of its storage, whatever view they are given.
    _C.default_generator(device_index(device)).set_state(new_state.clone())


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of the devices, in order."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device."""
    _C.default_generator(_C.current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds every device."""
    for generator in _distinct_generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device with a random number."""
    _C.default_generator(_C.current_device()).seed()


def seed_all() -> None:
    """Seeds every device with the same random number."""
    first, *others = _distinct_generators()
    number = first.seed()
    for generator in others:
        generator.manual_seed(number)


def initial_seed() -> int:
    """The seed of the current device."""
    return _C.default_generator(_C.current_device()).initial_seed()


def _distinct_generators() -> tuple[torch.Generator, ...]:
    """One for each stream of numbers: in the mode ``shared`` there is only one."""
    return (_C.default_generator(0),) if _C.rng_mode() == "shared" else default_generators()
