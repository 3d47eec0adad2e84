"""Block sizes: the published rules (Neuron docs, guidelines on memory management), and reuse within them."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

MIB = 2**20
CLASSED = 16 * MIB  # requests below it are rounded up to a size class

around_powers = st.integers(0, 24).flatmap(lambda k: st.integers(max(1, 2**k - 300), 2**k + 300))
sizes = st.one_of(st.integers(1, 3000), st.integers(1, 20 * MIB), around_powers)


DEVICE = "neuron:3"  # that no other test leaves anything on


def allocated() -> int:
    return torch.accelerator.memory_allocated(DEVICE)


def block_size(nbytes: int) -> int:
    before = allocated()
    tensor = torch.empty(nbytes, dtype=torch.uint8, device=DEVICE)
    size = allocated() - before
    del tensor
    assert allocated() == before
    return size


@settings(max_examples=200, deadline=None)
@given(sizes)
def test_requests_are_rounded_up_by_little_and_large_ones_not_at_all(nbytes: int) -> None:
    size = block_size(nbytes)
    assert size % 256 == 0
    if nbytes >= CLASSED:
        assert 0 <= size - nbytes < 256  # alignment only
    else:
        assert nbytes <= size <= CLASSED
        assert size - nbytes < max(256, nbytes / 8)


@settings(max_examples=100, deadline=None)
@given(sizes)
def test_a_class_holds_itself_and_everything_between(nbytes: int) -> None:
    size = block_size(nbytes)
    assert block_size(size) == size
    assert block_size((nbytes + size) // 2) == size


@settings(max_examples=100, deadline=None)
@given(sizes, sizes)
def test_a_larger_request_gets_no_smaller_block(first: int, second: int) -> None:
    small, large = sorted((first, second))
    assert block_size(small) <= block_size(large)


def test_the_smallest_block_is_256_bytes() -> None:
    assert block_size(1) == block_size(256) == 256
    assert block_size(257) == 512


def test_a_freed_block_serves_the_next_request_of_its_class() -> None:
    for nbytes in (1, 5000, MIB - 1, MIB, 15 * MIB, 17 * MIB):
        tensor = torch.empty(nbytes, dtype=torch.uint8, device="neuron")
        address, segments = tensor.data_ptr(), torch.neuron.memory_stats()["segment.all.current"]
        reserved = torch.neuron.memory_reserved()
        del tensor
        assert torch.neuron.memory_reserved() == reserved
        again = torch.empty(nbytes, dtype=torch.uint8, device="neuron")
        assert again.data_ptr() == address
        assert torch.neuron.memory_stats()["segment.all.current"] == segments


def test_small_requests_share_segments() -> None:
    torch.neuron.empty_cache()
    before = torch.neuron.memory_stats()
    held = [torch.empty(1000, dtype=torch.uint8, device="neuron") for _ in range(1000)]
    after = torch.neuron.memory_stats()
    assert after["segment.small_pool.current"] - before["segment.small_pool.current"] <= 2
    assert after["segment.large_pool.current"] == before["segment.large_pool.current"]
    assert len({tensor.data_ptr() for tensor in held}) == 1000


def test_freed_neighbours_join_for_a_larger_request() -> None:
    torch.neuron.empty_cache()
    held = [torch.empty(4 * MIB, dtype=torch.uint8, device="neuron") for _ in range(8)]
    reserved = torch.neuron.memory_reserved()
    del held
    whole = torch.empty(15 * MIB, dtype=torch.uint8, device="neuron")
    assert torch.neuron.memory_reserved() == reserved
    assert whole.numel() == 15 * MIB
