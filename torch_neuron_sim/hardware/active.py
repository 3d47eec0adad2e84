"""The chip that is in force in this process."""

from __future__ import annotations

import os

from torch_neuron_sim import _C
from torch_neuron_sim.hardware import chips

_INSTANCE_CONSTANTS = {
    "cores": "choose another TORCH_NEURON_SIM_INSTANCE",
    "hbm_stacks": "choose another TORCH_NEURON_SIM_INSTANCE",
    "hbm_stack_memory": "set TORCH_NEURON_SIM_HBM_GIB",
}

_active: chips.Chip | None = None


def install() -> None:
    """Puts the instance's own chip in force."""
    _apply(chips.shipped(_C.topology()["chip"]))


def chip() -> chips.Chip:
    """The chip in force, with the source of each constant."""
    assert _active is not None
    return _active


def override(**values: float | str) -> chips.Chip:
    """Changes constants of the chip in force, and returns it: ``override(hbm_bandwidth="3 TB/s", launch_latency=10)``.

    A number is in the unit of the constant (``chip().constants[name].unit``). ValueError for an unknown name, a bad
    value, the wrong unit, and for what the instance decides; RuntimeError once the runtime has started, as it does with
    the first device tensor.
    """
    _refuse_if_started("override")
    changed = chip().with_values(values)
    for name in values:
        if name in _INSTANCE_CONSTANTS:
            raise ValueError(f"chip constant '{name}' belongs to the instance: {_INSTANCE_CONSTANTS[name]}")
    _apply(changed)
    return changed


def load_chip(path: str | os.PathLike[str]) -> chips.Chip:
    """Puts the chip of a file in force, and returns it. A file has the form of those in torch_neuron_sim/hardware.

    OSError when it cannot be read; ValueError for a bad file, and for one whose cores or memory are not those of the
    simulated instance; RuntimeError once the runtime has started, as it does with the first device tensor.
    """
    _refuse_if_started("load_chip")
    loaded = chips.load(path)
    topology = _C.topology()
    own = chips.shipped(topology["chip"])
    for name, advice in _INSTANCE_CONSTANTS.items():
        simulated = topology["stack_bytes"] if name == "hbm_stack_memory" else own.amount(name)
        if loaded.amount(name) not in (own.amount(name), simulated):
            raise ValueError(f"{path}: {name} is {loaded.constants[name]}, not as on the simulated instance: {advice}")
    _apply(loaded)
    return loaded


def _refuse_if_started(what: str) -> None:
    if _C.is_initialized():
        raise RuntimeError(f"{what}: the runtime has started; change the chip before the first device tensor")


def _apply(chip: chips.Chip) -> None:
    global _active
    _C.set_chip(chip.model(_C.topology()["lnc"]))
    _active = chip
