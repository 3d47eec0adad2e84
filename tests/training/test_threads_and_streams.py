"""Several threads and several streams at once do what they do one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn


def train(device: str, seed: int, steps: int = 40) -> list[Tensor]:
    """Draws from its own generator only: the default one belongs to all threads."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 4))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    for _ in range(steps):
        x, y = torch.randn(8, 16, generator=generator), torch.randint(4, (8,), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


@pytest.mark.parametrize("devices", [("neuron:0", "neuron:0"), ("neuron:0", "neuron:1")])
def test_two_threads_train_two_models(devices: tuple[str, str]) -> None:
    start, kernel_threads = threading.Barrier(2), torch.get_num_threads()

    def run(device: str, seed: int) -> list[Tensor]:
        # Each Python thread has a number of its own, and sums depend on it.
        torch.set_num_threads(kernel_threads)
        start.wait(timeout=30)
        return train(device, seed)

    with ThreadPoolExecutor(2) as threads:
        together = [future.result(60) for future in [threads.submit(run, d, i) for i, d in enumerate(devices)]]
    for seed, found in enumerate(together):
        assert all(torch.equal(a, b) for a, b in zip(found, train("cpu", seed), strict=True))


def test_each_thread_has_its_own_current_device_and_stream() -> None:
    neuron = torch.neuron
    start, seen = threading.Barrier(2), {}

    def run(index: int) -> None:
        neuron.set_device(index)
        stream = neuron.Stream(index)
        neuron.set_stream(stream)
        start.wait(timeout=30)
        seen[index] = (
            neuron.current_device(),
            neuron.current_stream() == stream,
            torch.ones(1, device="neuron").device,
        )

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, range(2)))
    assert seen == {index: (index, True, torch.device("neuron", index)) for index in range(2)}
    assert neuron.current_device() == 0


def test_tensors_pass_from_thread_to_thread() -> None:
    with ThreadPoolExecutor(1) as thread:
        x = thread.submit(lambda: torch.arange(1000.0).to("neuron").requires_grad_()).result(30)
        y = x.square()
        thread.submit(lambda: y.sum().backward()).result(30)
    assert x.grad is not None
    assert torch.equal(x.grad.cpu(), 2 * torch.arange(1000.0))


def test_memory_freed_by_another_thread_is_free(allocated: Callable[..., int]) -> None:
    before = allocated()
    held = [torch.ones(100_000, device="neuron") for _ in range(4)]
    with ThreadPoolExecutor(1) as thread:
        thread.submit(held.clear).result(30)
    assert allocated() == before


def test_four_streams() -> None:
    neuron = torch.neuron
    streams = [neuron.Stream() for _ in range(4)]
    assert len({stream.stream_id for stream in streams}) == 4
    torch.manual_seed(0)
    x = torch.randn(4, 32, 32)
    parts: list[Tensor] = []
    for part, stream in zip(x, streams, strict=True):
        with neuron.stream(stream):
            assert neuron.current_stream() == stream
            parts.append((part.to("neuron", non_blocking=True) @ part.to("neuron")).relu())
            parts[-1].record_stream(stream)
    main = neuron.current_stream()
    for stream in streams:
        main.wait_stream(stream)
    total = torch.stack(parts).sum(0)
    assert torch.equal(total.cpu(), torch.stack([(part @ part).relu() for part in x]).sum(0))


def test_backward_runs_on_the_stream_of_its_forward() -> None:
    neuron = torch.neuron
    stream, seen = neuron.Stream(), []
    x = torch.ones(3, device="neuron", requires_grad=True)
    with neuron.stream(stream):
        y = x * 2
        y.register_hook(lambda gradient: seen.append(neuron.current_stream().stream_id))
        loss = y.sum()
    loss.backward()
    assert seen == [stream.stream_id]
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]


def on_side_stream(work: Callable[[], Tensor]) -> Tensor:
    neuron = torch.neuron
    stream, event = neuron.Stream(), neuron.Event()
    with neuron.stream(stream):
        result = work()
        event.record()
    event.wait()
    return result


def test_copies_on_a_side_stream_are_there_after_the_event() -> None:
    pinned = torch.arange(5000.0).pin_memory()
    moved = on_side_stream(lambda: pinned.to("neuron", non_blocking=True))
    assert torch.equal((moved + 1).cpu(), pinned + 1)


def test_backward_computes_with_the_callers_number_of_threads(run_python: Callable[..., Any]) -> None:
    """As on CPU, whose backward runs on the calling thread: the number decides the order of large sums."""
    done = run_python(
        "import torch, torch_neuron_sim\n"
        "from torch.utils.data import DataLoader\n"
        "def seen(device):\n"
        "    found, x = [], torch.ones(200, 200, device=device, requires_grad=True)\n"
        "    y = (x @ x).sum()\n"
        "    x.register_hook(lambda _: found.append(torch.get_num_threads()))\n"
        "    y.backward()\n"
        "    return found\n"
        "torch.set_num_threads(2)\n"
        "numbers = seen('cpu') + seen('neuron:0')\n"
        "list(DataLoader(torch.arange(4.0), pin_memory=True, num_workers=1))\n"
        "numbers += seen('cpu') + seen('neuron:0') + seen('neuron:1')\n"
        "torch.set_num_threads(1)\n"
        "numbers += seen('cpu') + seen('neuron:0') + seen('neuron:1')\n"
        "print(numbers)\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[2, 2, 2, 2, 2, 1, 1, 1]"
