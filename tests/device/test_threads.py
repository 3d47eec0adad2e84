"""The heap under several threads: nothing is lost, nothing is handed out twice."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import torch

SIZES = (1, 300, 5000, 2**20 - 1, 2**20, 3 * 2**20, 17 * 2**20)


def run_together(*functions: Callable[[], None]) -> None:
    """Runs each in a thread of its own, and raises what one of them raised."""
    failures: list[BaseException] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_memory_freed_by_another_thread_comes_back() -> None:
    before = torch.neuron.memory_allocated()
    tensors = [torch.ones(size, dtype=torch.uint8, device="neuron") for size in SIZES]
    assert torch.neuron.memory_allocated() - before >= sum(SIZES)
    run_together(tensors.clear)
    assert torch.neuron.memory_allocated() == before


def test_tensors_that_one_thread_makes_and_another_frees() -> None:
    before = torch.neuron.memory_allocated()
    handed: queue.Queue[torch.Tensor | None] = queue.Queue(maxsize=8)

    def make() -> None:
        for number in range(400):
            handed.put(torch.full((SIZES[number % 5],), number % 251, dtype=torch.uint8, device="neuron"))
        handed.put(None)

    def free() -> None:
        number = 0
        while (tensor := handed.get()) is not None:
            assert tensor[0].item() == tensor[-1].item() == number % 251
            number += 1
        assert number == 400

    run_together(make, free)
    assert torch.neuron.memory_allocated() == before


def test_threads_on_one_device_never_share_a_block() -> None:
    before = torch.neuron.memory_allocated()

    def churn(value: int) -> None:
        held: list[torch.Tensor] = []
        for step in range(150):
            held.append(torch.full((SIZES[step % 4],), value, dtype=torch.uint8, device="neuron"))
            if len(held) > 6:
                tensor = held.pop(step % 7)
                assert bool((tensor == value).all())

    run_together(*(lambda value=value: churn(value) for value in range(6)))  # type: ignore[misc]
    assert torch.neuron.memory_allocated() == before


def test_caches_emptied_while_others_allocate() -> None:
    before = torch.neuron.memory_allocated()
    done = threading.Event()

    def allocate() -> None:
        for step in range(300):
            tensor = torch.full((SIZES[step % 6],), 3, dtype=torch.uint8, device="neuron")
            assert tensor[-1].item() == 3
        done.set()

    def empty() -> None:
        while not done.is_set():
            torch.neuron.empty_cache()
            torch.accelerator.memory_stats()

    run_together(allocate, empty)
    assert torch.neuron.memory_allocated() == before
