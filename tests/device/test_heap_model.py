"""Random programs of allocation and release on several devices, beside a model that counts live bytes."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

MIB = 2**20
DEVICES = range(min(3, torch.neuron.device_count()))

devices = st.sampled_from(DEVICES)
sizes = st.one_of(st.integers(0, 2000), st.sampled_from([255, 256, 257, MIB - 1, MIB, MIB + 1, 16 * MIB - 1, 16 * MIB]))
picks = st.integers(0, 10**6)


@dataclass
class Storage:
    """A live storage: all its bytes are ``value``."""

    device: int
    nbytes: int
    value: int
    tensors: list[torch.Tensor] = field(default_factory=list)


class Heap(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        gc.collect()
        self.storages: list[Storage] = []
        self.next_value = 0
        self.before = {device: self.held(device) for device in DEVICES}

    @staticmethod
    def held(device: int) -> tuple[int, int, int]:
        """Bytes requested, allocated, reserved."""
        stats = torch.accelerator.memory_stats(device)
        requested, allocated, reserved = (
            stats[f"{name}_bytes.all.current"] for name in ("requested", "allocated", "reserved")
        )
        return requested, allocated, reserved

    def add(self, tensor: torch.Tensor, value: int) -> None:
        self.storages.append(Storage(tensor.device.index, tensor.untyped_storage().nbytes(), value, [tensor]))

    def pick(self, number: int) -> Storage:
        return self.storages[number % len(self.storages)]

    @rule(device=devices, nbytes=sizes)
    def allocate(self, device: int, nbytes: int) -> None:
        self.next_value = (self.next_value + 1) % 256
        tensor = torch.empty(nbytes, dtype=torch.uint8, device=f"neuron:{device}")
        self.add(tensor.fill_(self.next_value), self.next_value)

    @precondition(lambda self: self.storages)
    @rule(number=picks, start=st.integers(0, 500), step=st.integers(1, 3))
    def view(self, number: int, start: int, step: int) -> None:
        storage = self.pick(number)
        storage.tensors.append(storage.tensors[-1][start::step])

    @precondition(lambda self: self.storages)
    @rule(number=picks, device=devices)
    def clone(self, number: int, device: int) -> None:
        storage = self.pick(number)
        self.add(storage.tensors[-1].to(f"neuron:{device}", copy=True).contiguous(), storage.value)

    @precondition(lambda self: self.storages)
    @rule(number=picks, nbytes=sizes)
    def resize(self, number: int, nbytes: int) -> None:
        storage = self.pick(number)
        whole = torch.empty(0, dtype=torch.uint8, device=f"neuron:{storage.device}")
        whole.set_(storage.tensors[0].untyped_storage())
        whole.untyped_storage().resize_(nbytes)
        whole.set_(whole.untyped_storage()).fill_(storage.value)
        storage.tensors, storage.nbytes = [whole], nbytes

    @precondition(lambda self: self.storages)
    @rule(number=picks)
    def drop_a_tensor(self, number: int) -> None:
        storage = self.pick(number)
        storage.tensors.pop(number % len(storage.tensors))
        if not storage.tensors:
            self.storages.remove(storage)

    @rule()
    def empty_cache(self) -> None:
        torch.neuron.empty_cache()

    @invariant()
    def counts_are_those_of_the_model(self) -> None:
        for device in DEVICES:
            live = sum(storage.nbytes for storage in self.storages if storage.device == device)
            requested, allocated, reserved = self.held(device)
            assert requested - self.before[device][0] == live
            assert allocated - self.before[device][1] >= live
            assert reserved >= allocated

    @precondition(lambda self: self.storages)
    @rule(number=picks)
    def bytes_are_those_of_the_model(self, number: int) -> None:
        storage = self.pick(number)
        assert all(bool((tensor == storage.value).all()) for tensor in storage.tensors)

    def teardown(self) -> None:
        while self.storages:
            storage = self.storages.pop()
            assert all(bool((tensor == storage.value).all()) for tensor in storage.tensors)
            del storage
        for device in DEVICES:
            assert self.held(device)[:2] == self.before[device][:2]


TestHeap = Heap.TestCase
TestHeap.settings = settings(max_examples=20, stateful_step_count=30, deadline=None)
