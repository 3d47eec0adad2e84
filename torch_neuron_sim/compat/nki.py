"""Entry points of NKI kernels: there, so that programs can import them, and refused when called."""

from typing import Any, NoReturn


def nki_op(*args: Any, **kwargs: Any) -> NoReturn:
    """Registers an operator written in NKI, on the real device."""
    _refuse("nki_op")


def wrap_nki(*args: Any, **kwargs: Any) -> NoReturn:
    """Makes an NKI kernel callable with tensors, on the real device."""
    _refuse("wrap_nki")


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch_neuronx.{name}: NKI kernels run on the real device only; torch_neuron_sim runs PyTorch operators, so "
        "give the program a path without the kernel"
    )
