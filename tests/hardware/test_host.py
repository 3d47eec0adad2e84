"""Transfers to and from the host, and fallbacks: 16 GB/s, and 437 us for waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from torch_neuron_sim import _C


@pytest.fixture(autouse=True)
def _trainium2(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2")


def test_transfer() -> None:
    # 16,000,000 bytes / 16 bytes/ns = 1 ms.
    assert _C.host_transfer_ns(16e6) == 1e6
    assert _C.host_transfer_ns(0) == 0


def test_latency_of_a_transfer_can_be_set(use_chip: Callable[..., Any]) -> None:
    use_chip("trainium2", host_latency=5000)
    assert _C.host_transfer_ns(16e6) == 1_005_000


def test_fallback_is_two_transfers_and_a_synchronisation() -> None:
    # 1,600 bytes there: 100 ns. 160 bytes back: 10 ns. Between them the host waits for the device: 437,000 ns.
    assert _C.fallback_ns(1600, 160) == 437_110


def test_one_element_read_by_the_host(estimate: Callable[..., Any]) -> None:
    # 4 bytes / 16 bytes/ns; no launch and no DMA of the core.
    found = estimate("host", [((), "float32")], [])
    assert (found["total_ns"], found["bytes"], found["bound"]) == (0.25, 4, "host")
