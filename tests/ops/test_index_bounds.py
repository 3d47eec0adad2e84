"""An index beyond its dimension raises what it raises on CPU, and no neighbour in memory is read or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor


def at(x: Tensor, *index: int) -> Tensor:
    return torch.tensor(index, device=x.device)


# On views of 4 and 2 x 3 numbers inside larger tensors.
BEYOND: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "index": lambda x, m: x[at(x, 4)],
    "negative index": lambda x, m: x[at(x, -5)],
    "index of two dimensions": lambda x, m: m[at(x, 0), at(x, 3)],
    "number": lambda x, m: x[4],
    "host index": lambda x, m: m[torch.tensor([2])],
    "assignment": lambda x, m: x.__setitem__(at(x, 4), -1.0),
    "assignment in a view of a view": lambda x, m: x[:2].index_put_((at(x, 3),), torch.tensor(-1.0, device=x.device)),
    "accumulated assignment": lambda x, m: m.index_put_((at(x, 2),), torch.ones(3, device=x.device), accumulate=True),
    "select": lambda x, m: m.select(0, 2),
    "narrow": lambda x, m: m.narrow(1, 2, 2),
    "as_strided": lambda x, m: x.as_strided((100,), (2,), 1),
    "index_select": lambda x, m: m.index_select(0, at(x, 2)),
    "index_add_": lambda x, m: m.index_add_(0, at(x, 7), torch.ones(1, 3, device=x.device)),
    "index_copy_": lambda x, m: m.index_copy_(0, at(x, 2), torch.ones(1, 3, device=x.device)),
    "index_fill_": lambda x, m: m.index_fill_(0, at(x, 2), 1.0),
    "index_reduce_": lambda x, m: m.index_reduce_(0, at(x, 2), torch.ones(1, 3, device=x.device), "amax"),
    "take": lambda x, m: m.take(at(x, 6)),
    "put_": lambda x, m: m.put_(at(x, 99), torch.ones(1, device=x.device)),
    "gather": lambda x, m: m.gather(1, at(x, 3).view(1, 1)),
    "negative gather": lambda x, m: m.gather(1, at(x, -1).view(1, 1)),
    "scatter_": lambda x, m: m.scatter_(1, at(x, 5).view(1, 1), 1.0),
    "scatter_add_": lambda x, m: m.scatter_add_(0, at(x, 2).view(1, 1), torch.ones(1, 1, device=x.device)),
    "scatter_reduce_": lambda x, m: m.scatter_reduce_(0, at(x, 2).view(1, 1), torch.ones(1, 1, device=x.device), "sum"),
    "embedding": lambda x, m: F.embedding(at(x, 2), m),
    "negative token": lambda x, m: F.embedding(at(x, -1), m),
    "embedding_bag": lambda x, m: F.embedding_bag(at(x, 2).view(1, 1), m),
    "one_hot": lambda x, m: F.one_hot(at(x, 8), 8),
    "target of nll_loss": lambda x, m: F.nll_loss(m, at(x, 0, 3)),
    "target of cross_entropy": lambda x, m: F.cross_entropy(m, at(x, 0, -2)),
    "mask of another size": lambda x, m: x[torch.tensor([True, False], device=x.device)],
    "negative repeats": lambda x, m: torch.repeat_interleave(x, at(x, -1, 1, 1, 1)),
    "diagonal_scatter of another size": lambda x, m: torch.diagonal_scatter(m, torch.ones(3, device=x.device)),
    "unfold": lambda x, m: x.unfold(0, 5, 1),
}


def operands(device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    line, block = torch.arange(8.0).to(device), torch.arange(20.0).reshape(4, 5).to(device)
    return line, block, line[2:6], block[1:3, 1:4]


@pytest.mark.parametrize("name", BEYOND)
def test_error_is_that_of_cpu_and_nothing_changes(name: str) -> None:
    with pytest.raises((IndexError, RuntimeError)) as on_cpu:
        BEYOND[name](*operands("cpu")[2:])
    line, block, x, m = operands("neuron")
    with pytest.raises((IndexError, RuntimeError)) as on_neuron:
        BEYOND[name](x, m)
    assert on_neuron.type is on_cpu.type
    assert str(on_neuron.value) == str(on_cpu.value)
    assert torch.equal(line.cpu(), torch.arange(8.0))
    assert torch.equal(block.cpu(), torch.arange(20.0).reshape(4, 5))
    assert (x + 1).tolist() == [3, 4, 5, 6]
