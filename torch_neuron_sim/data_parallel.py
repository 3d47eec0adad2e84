"""``torch.nn.DataParallel`` and ``torch.nn.parallel.comm`` copy between devices by code of PyTorch's CUDA build.

In other builds they fail on a missing attribute of ``torch._C``; here they say what does not work.
"""

from typing import Any, NoReturn

import torch
from torch.nn.parallel import comm

_FUNCTIONS = ("broadcast", "broadcast_coalesced", "scatter", "gather")


def _refusing(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.nn.parallel.comm.{name}, which torch.nn.DataParallel uses, does not work on neuron: PyTorch has it "
            "for CUDA only; call the module itself, on one device"
        )

    return refuse


def install() -> None:
    """Makes these functions refuse, in a PyTorch that lacks their code."""
    if not hasattr(torch._C, "_scatter"):
        for name in _FUNCTIONS:
            setattr(comm, name, _refusing(name))
