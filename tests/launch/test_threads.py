"""Calls on several threads: on the same tensors, on several devices, on tensors that another thread made or frees."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Barrier
from typing import Any

import pytest
import torch
from torch import Tensor

import torch_neuron_sim
from torch_neuron_sim import neuron

THREADS = 4
ROUNDS = 400


def on_threads(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Runs work(0), work(1), ... at the same time; what it raises is raised here."""
    barrier = Barrier(count)

    def start(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def test_many_threads_read_one_tensor() -> None:
    x = torch.randn(33, 17)
    shared = x.to("neuron")
    expected = [x + 1, x.lgamma(), x.sum(0), x @ x.mT, x.sort(1)[0], x[x > 0]]

    def work(_: int) -> None:
        for _ in range(ROUNDS):
            results = [
                shared + 1,
                shared.lgamma(),
                shared.sum(0),
                shared @ shared.mT,
                shared.sort(1)[0],
                shared[shared > 0],
            ]
            assert all(torch.equal(one.cpu(), other) for one, other in zip(results, expected, strict=True))

    on_threads(work)
    assert torch.equal(shared.cpu(), x)


def test_many_threads_write_to_parts_of_one_storage() -> None:
    base = torch.zeros(THREADS, 100, device="neuron")

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            base[number].add_(number + 1)
            torch.frac(base[number] + 0.5, out=torch.empty(0, device="neuron"))

    on_threads(work)
    expected = torch.arange(1.0, THREADS + 1)[:, None].expand(THREADS, 100) * ROUNDS
    assert torch.equal(base.cpu(), expected)


def test_a_device_for_each_thread(allocated: Callable[..., int]) -> None:
    before = [allocated(index) for index in range(THREADS)]

    def work(number: int) -> float:
        neuron.set_device(number)
        x = torch.ones(50, device="neuron")
        for _ in range(ROUNDS):
            x = x * 1.01 + torch.zeros(50, device=f"neuron:{number}").lgamma().clamp(max=0)
        assert x.device.index == neuron.current_device() == number
        return x.sum().item()

    results = on_threads(work)
    expected = torch.ones(50)
    for _ in range(ROUNDS):
        expected = expected * 1.01
    assert results == [expected.sum().item()] * THREADS
    assert neuron.current_device() == 0
    assert [allocated(index) for index in range(THREADS)] == before


def test_one_thread_makes_and_another_frees(allocated: Callable[..., int]) -> None:
    before = allocated()
    queue: Queue[Tensor | None] = Queue(maxsize=8)

    def work(number: int) -> float:
        total = 0.0
        if number == 0:
            for value in range(ROUNDS):
                queue.put(torch.full((1 + value * 7,), float(value), device="neuron").frac_().add_(1))
            queue.put(None)
        else:
            while (x := queue.get()) is not None:
                total += (x * 2).mean().item()
        return total

    assert on_threads(work, 2) == [0, 2 * ROUNDS]
    assert allocated() == before


def test_tensors_handed_to_a_thread_that_ends_outlive_it() -> None:
    kept: list[Tensor] = []
    on_threads(lambda number: kept.append((torch.ones(10, device="neuron") * number).lgamma().exp()), 3)
    assert sorted(x.sum().item() for x in kept) == [10, 10, float("inf")]
    kept.clear()


def test_kernels_of_several_threads_keep_arguments(
    cpu_operator: Callable[..., Any], allocated: Callable[..., int]
) -> None:
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.append(x)
        return x + 1

    keep = cpu_operator("keep(Tensor x) -> Tensor", kernel)
    before = allocated()
    shared = [torch.ones(3, device="neuron")]

    def work(number: int) -> None:
        for value in range(20):
            assert keep(shared[0]).sum().item() == 6
            assert keep(torch.full((3,), float(value), device="neuron"))[0].item() == value + 1

    on_threads(work)
    shared.clear()
    assert sum(x.sum().item() for x in kept) == THREADS * (20 * 3 + 3 * sum(range(20)))
    kept.clear()
    assert allocated() == before


def test_errors_stay_in_their_thread() -> None:
    x = torch.ones(4, device="neuron")

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            if number % 2:
                with pytest.raises(RuntimeError, match="must match the size"):
                    x + torch.ones(3, device="neuron")
            else:
                assert (x + 1).sum().item() == 8

    on_threads(work)


def test_backward_on_several_threads() -> None:
    weight = torch.randn(8, 8)
    leaf = weight.clone().requires_grad_()
    (leaf.tanh() @ leaf).square().mean().backward()

    def work(number: int) -> Tensor:
        own = weight.to(f"neuron:{number % 2}").requires_grad_()
        for _ in range(20):
            own.grad = None
            (own.tanh() @ own).square().mean().backward()
        assert own.grad is not None
        return own.grad

    for gradient in on_threads(work):
        assert torch.equal(gradient.cpu(), leaf.grad)


def test_every_call_is_counted_once() -> None:
    torch_neuron_sim.clear_op_tracking()
    x = torch.ones(3, device="neuron")

    def work(_: int) -> None:
        for _ in range(ROUNDS):
            x.relu()
            x.frac()

    on_threads(work)
    calls = {(row.op, row.route): row.calls for row in torch_neuron_sim.op_report().rows}
    assert calls["aten::relu", "native"] == calls["aten::frac", "fallback"] == THREADS * ROUNDS


def test_policies_hold_for_all_threads() -> None:
    x = torch.ones(3, device="neuron")

    def work(_: int) -> None:
        with pytest.raises(RuntimeError, match="fallback policy is 'error'"):
            x.frac()

    with torch_neuron_sim.fallback_policy("error"):
        on_threads(work)
