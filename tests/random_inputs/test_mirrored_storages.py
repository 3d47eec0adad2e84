"""A random program on storages, views and two devices, run beside the same program on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from torch import Tensor

Operation = Callable[..., object]

MOST = 7  # live tensors
numbers = st.integers(0, 30)
sides = st.lists(st.integers(0, 4), max_size=3)
devices = st.sampled_from([0, 1])
dtypes = st.sampled_from([torch.float32, torch.float32, torch.int64, torch.float64])
WORKER = ThreadPoolExecutor(1)


@dataclass
class Mirror:
    """One tensor on both devices; ``unknown`` has its sizes, strides and sharing, and 1 where no value is defined."""

    device: int
    cpu: Tensor
    neuron: Tensor
    unknown: Tensor


def whole(x: Tensor) -> Tensor:
    """All of the storage of x as a vector."""
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())


def fits(x: Tensor) -> bool:
    """Whether the storage, which may have shrunk, has all elements of x."""
    last = x.storage_offset() + sum((side - 1) * stride for side, stride in zip(x.shape, x.stride(), strict=True))
    return x.numel() == 0 or (last + 1) * x.element_size() <= x.untyped_storage().nbytes()


def spread_along(u: Tensor) -> object:
    return u.copy_(u.cumsum(0) > 0)


def keep(u: Tensor) -> None:
    """What is unknown stays so."""


# What each does to the tensor, and to what is unknown of it.
UPDATES: dict[str, tuple[Operation, Operation]] = {
    "add": (lambda x: x.add_(1.0), keep),
    "mul": (lambda x: x.mul_(-2), keep),
    "fallback": (lambda x: x.lgamma_(), keep),
    "clamp": (lambda x: x.clamp_(-9, 9), keep),
    "fill": (lambda x: x.fill_(3), lambda u: u.zero_()),
    "zero": (lambda x: x.zero_(), lambda u: u.zero_()),
    "random": (lambda x: x.random_(0, 50), lambda u: u.zero_()),
    "arange": (lambda x: x.copy_(torch.arange(x.numel()).view(x.shape)), lambda u: u.zero_()),
    "row": (lambda x: x[0].fill_(4), lambda u: u[0].zero_()),
    "scan": (lambda x: x.cumsum_(0), spread_along),
    "transpose": (lambda x: x.t_(), lambda u: u.t_()),
    "unsqueeze": (lambda x: x.unsqueeze_(0), lambda u: u.unsqueeze_(0)),
    "squeeze": (lambda x: x.squeeze_(), lambda u: u.squeeze_()),
}
PAIRS: dict[str, tuple[Operation, Operation]] = {
    "add": (lambda x, y: x.add_(y), lambda u, v: u.bitwise_or_(v)),
    "minimum": (lambda x, y: torch.minimum(x, y, out=x), lambda u, v: torch.bitwise_or(u, v, out=u)),
    "copy": (lambda x, y: x.copy_(y), lambda u, v: u.copy_(v)),
}
VIEWS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "slice": lambda x, n: x[n % 3 :: n % 2 + 1],
    "row": lambda x, n: x[n % 4],
    "transpose": lambda x, n: x.transpose(0, -1),
    "vector": lambda x, n: x.view(-1),
    "expand": lambda x, n: x.expand(n % 3, *x.shape),
    "detach": lambda x, n: x.detach(),
    "strided": lambda x, n: x.as_strided((2, n % 3), (n % 4 + 2, 1), n % 5),
    "diagonal": lambda x, n: x.diagonal(),
}


def outcome(operation: Operation, *arguments: object) -> type[Exception] | None:
    try:
        operation(*arguments)
    except Exception as error:
        return type(error)
    return None


class Program(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.live: list[Mirror] = []
        torch.manual_seed(0)

    def pick(self, number: int) -> Mirror:
        return self.live[number % len(self.live)]

    def on_both(self, operation: Operation, spread: Operation, *mirrors: Mirror, worker: bool = False) -> bool:
        """Runs it on both devices from the same random state; whether it went through."""
        state = torch.get_rng_state()
        expected = outcome(operation, *(mirror.cpu for mirror in mirrors))
        torch.set_rng_state(state)
        arguments = [mirror.neuron for mirror in mirrors]
        found = WORKER.submit(outcome, operation, *arguments).result() if worker else outcome(operation, *arguments)
        del arguments
        assert found == expected
        if expected is None:
            spread(*(mirror.unknown for mirror in mirrors))
        return expected is None

    @rule(sizes=sides, device=devices, dtype=dtypes, strided=st.booleans())
    def make(self, sizes: list[int], device: int, dtype: torch.dtype, strided: bool) -> None:
        if len(self.live) == MOST:
            return
        reverse = list(range(len(sizes)))[::-1]
        strides = (torch.empty(sizes[::-1]).permute(reverse) if strided else torch.empty(sizes)).stride()
        made = [
            torch.empty_strided(sizes, strides, dtype=kind, device=where)
            for kind, where in ((dtype, "cpu"), (dtype, f"neuron:{device}"), (torch.uint8, "cpu"))
        ]
        made[2].fill_(1)
        self.live.append(Mirror(device, *made))

    @precondition(lambda self: self.live)
    @rule(number=numbers, name=st.sampled_from(sorted(UPDATES)), worker=st.booleans())
    def update(self, number: int, name: str, worker: bool) -> None:
        mirror = self.pick(number)
        if fits(mirror.cpu):
            self.on_both(*UPDATES[name], mirror, worker=worker)

    @precondition(lambda self: len(self.live) > 1)
    @rule(first=numbers, second=numbers, name=st.sampled_from(sorted(PAIRS)), worker=st.booleans())
    def combine(self, first: int, second: int, name: str, worker: bool) -> None:
        x, y = self.pick(first), self.pick(second)
        if name == "minimum" and x.cpu.shape != y.cpu.shape:
            return  # would resize a tensor that it reads
        if fits(x.cpu) and fits(y.cpu) and (name == "copy" or x.device == y.device):
            self.on_both(*PAIRS[name], x, y, worker=worker)

    @precondition(lambda self: self.live)
    @rule(number=numbers, argument=numbers, name=st.sampled_from(sorted(VIEWS)))
    def view(self, number: int, argument: int, name: str) -> None:
        mirror, made = self.pick(number), []
        if len(self.live) < MOST and fits(mirror.cpu):

            def operation(x: Tensor) -> None:
                made.append(VIEWS[name](x, argument))

            if self.on_both(operation, operation, mirror):
                self.live.append(Mirror(mirror.device, *made))

    @precondition(lambda self: self.live)
    @rule(number=numbers, device=devices)
    def copy_to_a_device(self, number: int, device: int) -> None:
        mirror = self.pick(number)
        if len(self.live) < MOST and fits(mirror.cpu):
            copies = mirror.cpu.clone(), mirror.neuron.to(f"neuron:{device}", copy=True), mirror.unknown.clone()
            self.live.append(Mirror(device, *copies))

    @precondition(lambda self: self.live)
    @rule(number=numbers, sizes=sides)
    def resize(self, number: int, sizes: list[int]) -> None:
        self.grow(self.pick(number), lambda x: x.resize_(sizes))

    @precondition(lambda self: self.live)
    @rule(number=numbers, elements=st.integers(0, 40))
    def resize_storage(self, number: int, elements: int) -> None:
        self.grow(self.pick(number), lambda x: x.untyped_storage().resize_(elements * x.element_size()))

    def grow(self, mirror: Mirror, operation: Operation) -> None:
        before = whole(mirror.unknown).numel()
        self.on_both(operation, operation, mirror)
        whole(mirror.unknown)[before:] = 1

    @precondition(lambda self: len(self.live) > 1)
    @rule(first=numbers, second=numbers, offset=st.integers(0, 5), data=st.sampled_from(["set", "part", "data"]))
    def take_the_storage(self, first: int, second: int, offset: int, data: str) -> None:
        x, y = self.pick(first), self.pick(second)
        if x.device != y.device or x.cpu.dtype != y.cpu.dtype:
            return

        def operation(x: Tensor, y: Tensor) -> None:
            if data == "set":
                x.set_(y)
            elif data == "part":
                room = y.untyped_storage().nbytes() // y.element_size() - offset
                columns = max(room // 2, 0)
                x.set_(y.untyped_storage(), offset, (2, columns), (max(columns, 1), 1))
            else:
                x.data = y

        self.on_both(operation, operation, x, y)

    @precondition(lambda self: self.live)
    @rule(number=numbers, worker=st.booleans())
    def free(self, number: int, worker: bool) -> None:
        mirror = self.live.pop(number % len(self.live))
        if worker:
            box = [mirror]
            del mirror
            WORKER.submit(box.clear).result()

    @rule()
    def empty_cache(self) -> None:
        torch.neuron.empty_cache()

    @invariant()
    def all_is_the_same(self) -> None:
        for mirror in self.live:
            cpu, neuron, unknown = mirror.cpu, mirror.neuron, mirror.unknown
            note(f"{tuple(cpu.shape)} {cpu.stride()} {cpu.dtype} on {neuron.device}")
            assert neuron.device == torch.device("neuron", mirror.device)
            for x in (neuron, unknown):
                assert (x.shape, x.stride(), x.storage_offset()) == (cpu.shape, cpu.stride(), cpu.storage_offset())
            assert (neuron.dtype, neuron._version) == (cpu.dtype, cpu._version)
            assert neuron.untyped_storage().nbytes() == cpu.untyped_storage().nbytes()
            if fits(cpu):
                known = unknown == 0
                found, expected = neuron.cpu()[known], cpu[known]
                assert torch.equal(found.view(torch.uint8), expected.view(torch.uint8))
        for kind in ("neuron", "unknown"):
            assert self.owners(kind) == self.owners("cpu")

    def owners(self, kind: str) -> list[int]:
        """For each tensor the first that has its storage."""
        storages = [getattr(mirror, kind).untyped_storage()._cdata for mirror in self.live]
        return [storages.index(storage) for storage in storages]


@pytest.fixture(scope="module", autouse=True)
def _two_devices() -> Iterator[None]:
    if torch.neuron.device_count() < 2:
        pytest.skip("the simulated instance has one device")
    yield


SETTINGS = settings(max_examples=max(settings().max_examples // 2, 1), stateful_step_count=30)


def test_program() -> None:
    run_state_machine_as_test(Program, settings=SETTINGS)


@pytest.mark.parametrize(
    ("tensor", "arguments"), [(torch.zeros(2, 3).t(), (0, (3, 2))), (torch.zeros(1).expand(6), ())], ids=["part", "all"]
)
def test_set_without_strides_keeps_those_of_a_tensor_of_that_size(
    same: Callable[..., None], tensor: Tensor, arguments: tuple[object, ...]
) -> None:
    same(lambda x, y: x.set_(y.untyped_storage(), *arguments), tensor, torch.arange(6.0))
