"""Whose memory it is: what kernels allocate, keep and give back."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_neuron_sim import neuron

Define = Callable[..., Any]

PAGE = 1 << 16  # a multiple of every size class that is used here


@pytest.fixture(autouse=True)
def _fresh_peaks() -> Iterator[None]:
    gc.collect()
    neuron.empty_cache()
    neuron.reset_peak_memory_stats()
    yield


def held() -> tuple[int, int]:
    return neuron.memory_allocated(), neuron.scratch_stats()["current"]


def overwrite_free_memory() -> None:
    for size in (1, 8, 64, 1024, PAGE // 4, PAGE):
        for _ in range(4):
            torch.full((size,), -1.0, device="neuron")


def test_host_tensors_of_a_python_kernel_are_host_memory(cpu_operator: Define) -> None:
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.extend((torch.full((PAGE,), 3.0), torch.arange(PAGE), x * 2))
        return x.sum()

    keep = cpu_operator("keep(Tensor x) -> Tensor", kernel)
    x = torch.ones(PAGE // 4, device="neuron")
    allocated, scratch = held()
    neuron.reset_peak_memory_stats()
    result = keep(x)
    assert held() == (allocated + 256, scratch)
    assert neuron.max_memory_allocated() == allocated + 256
    assert neuron.scratch_stats()["peak"] == scratch
    del x, result
    neuron.empty_cache()
    overwrite_free_memory()
    assert [kept[0].sum().item(), kept[1][-1].item(), kept[2].sum().item()] == [3 * PAGE, PAGE - 1, PAGE // 2]


def test_result_made_on_a_worker_thread(cpu_operator: Define) -> None:
    def kernel(x: Tensor) -> Tensor:
        made: list[Tensor] = []
        worker = threading.Thread(target=lambda: made.append(torch.full((5,), 7.0)))
        worker.start()
        worker.join()
        return made[0][1:]

    there = cpu_operator("there(Tensor x) -> Tensor", kernel)
    result = there(torch.ones(1, device="neuron"))
    assert result.device.type == "neuron"
    assert (result.tolist(), result.storage_offset()) == ([7] * 4, 1)
    assert (result + 1).tolist() == [8] * 4


def test_result_that_the_kernel_keeps_is_copied(cpu_operator: Define) -> None:
    cache = torch.arange(4.0)
    cached = cpu_operator("cached(Tensor x) -> Tensor", lambda x: cache)
    x = torch.ones(1, device="neuron")
    first = cached(x)
    first.fill_(0)
    assert cache.tolist() == [0, 1, 2, 3]
    assert cache.device.type == "cpu"
    assert cached(x).tolist() == [0, 1, 2, 3]
    assert first.tolist() == [0] * 4


def test_result_over_memory_of_numpy(cpu_operator: Define) -> None:
    import numpy

    def kernel(x: Tensor) -> Tensor:
        return torch.from_numpy(numpy.arange(6, dtype=numpy.int32))

    result = cpu_operator("wrap(Tensor x) -> Tensor", kernel)(torch.ones(1, device="neuron"))
    assert result.add(1).tolist() == [1, 2, 3, 4, 5, 6]


def test_argument_that_the_kernel_keeps_stays_valid_after_its_tensor_is_gone(cpu_operator: Define) -> None:
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.append(x)
        return x + 1

    keep = cpu_operator("keep(Tensor x) -> Tensor", kernel)
    allocated, _ = held()
    x = torch.full((PAGE // 4,), 5.0, device="neuron")
    keep(x)
    x.add_(1)
    assert kept[0].device.type == "cpu"
    assert kept[0].sum().item() == 6 * PAGE // 4  # the same bytes, as long as both live
    del x
    overwrite_free_memory()
    assert kept[0].sum().item() == 6 * PAGE // 4
    assert held()[0] == allocated + PAGE  # and so they still take up device memory
    kept[0].fill_(9)
    assert kept[0][-1].item() == 9
    kept.clear()
    assert held()[0] == allocated


def test_view_of_an_argument_that_the_kernel_keeps(cpu_operator: Define) -> None:
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.append(x[2:4])
        return x.clone()

    keep = cpu_operator("keep(Tensor x) -> Tensor", kernel)
    allocated, _ = held()
    x = torch.arange(10.0, device="neuron")
    keep(x)
    keep(x)
    del x
    overwrite_free_memory()
    assert [view.tolist() for view in kept] == [[2, 3], [2, 3]]
    kept.clear()
    assert held()[0] == allocated


def test_argument_that_is_kept_and_returned_by_a_later_call(cpu_operator: Define) -> None:
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.append(x)
        return kept[0]

    first_of = cpu_operator("first_of(Tensor x) -> Tensor", kernel)
    x = torch.full((4,), 2.0, device="neuron")
    assert first_of(x) is x
    assert first_of(torch.zeros(4, device="neuron")).tolist() == [2] * 4  # x is alive: what is returned is a copy
    del x
    overwrite_free_memory()
    late = first_of(torch.zeros(4, device="neuron"))
    kept.clear()
    overwrite_free_memory()
    assert late.tolist() == [2] * 4


def test_kept_argument_whose_tensor_then_grows(cpu_operator: Define) -> None:
    kept: list[Tensor] = []

    def kernel(x: Tensor) -> Tensor:
        kept.append(x)
        return x.clone()

    keep = cpu_operator("keep(Tensor x) -> Tensor", kernel)
    x = torch.arange(3.0, device="neuron")
    keep(x)
    x.resize_(PAGE).fill_(8)
    overwrite_free_memory()
    assert kept[0].tolist() == [0, 1, 2]
    assert keep(x)[-1].item() == 8
    assert kept[0].tolist() == [0, 1, 2]


def test_what_a_kernel_does_to_its_argument_object_is_not_seen_by_others(cpu_operator: Define) -> None:
    seen: list[tuple[Any, ...]] = []

    def kernel(x: Tensor) -> Tensor:
        seen.append((hasattr(x, "mark"), x.requires_grad, x.grad, x._version))
        x.mark = 1
        x.requires_grad_(True)
        x.grad = torch.ones_like(x)
        x.detach().add_(0)
        return x.detach().clone()

    mark = cpu_operator("mark(Tensor x) -> Tensor", kernel)
    x = torch.ones(3, device="neuron")
    for tensor in (x, x, x + 1, torch.sin(x), x.view(3, 1)):
        mark(tensor)
        assert not tensor.requires_grad
        assert tensor.grad is None
    assert seen == [(False, False, None, 0)] * 5


def test_scratch_of_a_native_kernel_is_counted_apart_and_given_back(same_as_cpu: Callable[..., Any]) -> None:
    x, weight = torch.randn(2, 8, 32, 32), torch.randn(16, 8, 3, 3)
    before = held()
    result = same_as_cpu(torch.conv2d, x, weight)
    assert neuron.scratch_stats()["peak"] > before[1]
    size = result.untyped_storage().nbytes()
    assert held()[1] == before[1]
    assert before[0] + size <= held()[0] <= before[0] + size * 9 / 8
    del result
    assert held() == before


def test_scratch_of_a_fallback_is_host_memory() -> None:
    x = torch.randn(PAGE, device="neuron")
    before = held()
    neuron.reset_peak_memory_stats()
    x.median()
    assert neuron.scratch_stats()["peak"] == before[1]
    assert held() == before


def test_empty_results_hold_no_memory() -> None:
    before = held()
    x = torch.ones(0, 3, device="neuron")
    results = [x + 1, x.lgamma(), x.sum(1), torch.cat([x, x]), x.nonzero(), x.clone(), x.t().contiguous()]
    assert held() == before
    assert [result.numel() for result in results] == [0] * 7
