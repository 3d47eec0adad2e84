"""torch.multiprocessing with spawn: tensors arrive in the other process, and come back, with equal values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch import multiprocessing as mp

pytestmark = pytest.mark.filterwarnings("ignore::torch_neuron_sim.FallbackWarning")


@pytest.fixture(scope="module")
def pool() -> Iterator[Any]:
    """One spawned worker. It imports what it is to call by name, so the tests send it functions of torch."""
    made = mp.get_context("spawn").Pool(1)
    with made:
        yield made


TENSORS: dict[str, Callable[[], Tensor]] = {
    "dense": lambda: torch.arange(6.0, device="neuron").reshape(2, 3),
    "on another device": lambda: torch.arange(6.0, device="neuron:1").reshape(2, 3),
    "a strided view": lambda: torch.arange(24.0, device="neuron").reshape(4, 6)[1:, ::2].t(),
    "bfloat16": lambda: torch.arange(4, dtype=torch.bfloat16, device="neuron"),
    "bool": lambda: torch.tensor([True, False], device="neuron"),
    "without dimensions": lambda: torch.tensor(3, device="neuron"),
    "empty": lambda: torch.empty(0, 3, device="neuron"),
    "a parameter": lambda: nn.Parameter(torch.ones(2, device="neuron")),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensor_goes_and_comes_back(name: str, pool: Any) -> None:
    sent = TENSORS[name]()
    back = pool.apply(torch.clone, (sent.detach(),))
    assert (back.device, back.dtype, back.shape) == (sent.device, sent.dtype, sent.shape)
    assert torch.equal(back, sent)


def test_what_was_sent_is_told_to_be_on_the_device_there(pool: Any) -> None:
    assert pool.apply(Tensor.tolist, (torch.arange(3, device="neuron:1"),)) == [0, 1, 2]
    assert pool.apply(torch.typename, (torch.ones(1, device="neuron"),)) == "torch.neuron.FloatTensor"


def test_worker_computes_with_its_own_device(pool: Any) -> None:
    x = torch.arange(4.0, device="neuron").reshape(2, 2)
    assert torch.equal(pool.apply(torch.matmul, (x, x)), x @ x)
    assert [t.tolist() for t in pool.map(torch.sum, [x, x * 2, x.neuron(1)])] == [6, 12, 6]


def test_module_with_its_weights_goes_and_comes_back(pool: Any) -> None:
    module = nn.Linear(2, 2).to("neuron")
    back = pool.apply(nn.Module.train, (module, False))
    assert not back.training
    assert back.weight.device == module.weight.device
    assert torch.equal(back.weight, module.weight)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_parameter_stays_one(requires_grad: bool) -> None:
    sent = nn.Parameter(torch.ones(4, device="neuron:1")[1:], requires_grad)
    back = pickle.loads(ForkingPickler.dumps(sent))
    assert type(back) is nn.Parameter
    assert (back.device, back.requires_grad, back.tolist()) == (sent.device, requires_grad, [1, 1, 1])


def test_receiver_has_a_copy(pool: Any) -> None:
    x = torch.zeros(3, device="neuron")
    assert pool.apply(Tensor.add_, (x, 1)).tolist() == [1, 1, 1]
    assert x.tolist() == [0, 0, 0]


def test_error_of_the_worker_is_raised_here(pool: Any) -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        pool.apply(torch.matmul, (torch.ones(2, 3, device="neuron"), torch.ones(2, 3, device="neuron")))


def test_tensor_of_a_graph_is_refused_as_on_cpu(pool: Any) -> None:
    x = torch.ones(2, device="neuron", requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize"):
        pool.apply(torch.sum, (x,))


def test_queue_and_pipe() -> None:
    context = mp.get_context("spawn")
    queue, (here, there) = context.Queue(), context.Pipe()
    x = torch.arange(3.0, device="neuron:1")
    # Queue.put and Connection.send are functions that the child can import.
    process = context.Process(target=queue.put, args=(x,))
    other = context.Process(target=there.send, args=([x, {"a": x * 2}],))
    process.start()
    other.start()
    assert torch.equal(queue.get(timeout=60), x)
    assert here.poll(60)
    received, named = here.recv()
    assert torch.equal(received, x)
    assert torch.equal(named["a"], x * 2)
    for each in (process, other):
        each.join(60)
        assert each.exitcode == 0
