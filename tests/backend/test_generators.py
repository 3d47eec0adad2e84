"""torch.Generator(device="neuron"): a stream of numbers of its own, that every way of sampling draws from."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

import torch_neuron_sim

Sample = Callable[[str, torch.Generator], Tensor]

SAMPLES: dict[str, Sample] = {
    "rand": lambda d, g: torch.rand(9, device=d, generator=g),
    "randn": lambda d, g: torch.randn(9, device=d, generator=g),
    "randn bfloat16": lambda d, g: torch.randn(9, device=d, generator=g, dtype=torch.bfloat16),
    "randn float64": lambda d, g: torch.randn(33, device=d, generator=g, dtype=torch.float64),
    "randn complex": lambda d, g: torch.randn(9, device=d, generator=g, dtype=torch.complex64),
    "randn large": lambda d, g: torch.randn(3001, device=d, generator=g),
    "randint": lambda d, g: torch.randint(3, 1000, (9,), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(50, device=d, generator=g),
    "normal_": lambda d, g: torch.empty(4, 5, device=d).t().normal_(2, 3, generator=g),
    "uniform_": lambda d, g: torch.empty(10, 4, device=d)[::2].uniform_(-1, 2, generator=g),
    "random_": lambda d, g: torch.empty(9, device=d, dtype=torch.int32).random_(5, 99, generator=g),
    "exponential_": lambda d, g: torch.empty(9, device=d).exponential_(2, generator=g),
    "geometric_": lambda d, g: torch.empty(9, device=d).geometric_(0.3, generator=g),
    "cauchy_": lambda d, g: torch.empty(9, device=d).cauchy_(generator=g),
    "log_normal_": lambda d, g: torch.empty(9, device=d).log_normal_(generator=g),
    "bernoulli_": lambda d, g: torch.empty(9, device=d).bernoulli_(0.4, generator=g),
    "bernoulli_ of tensor": lambda d, g: torch.empty(9, device=d).bernoulli_(
        torch.full((9,), 0.4, device=d), generator=g
    ),
    "bernoulli": lambda d, g: torch.bernoulli(torch.full((9,), 0.4, device=d), generator=g),
    "normal of tensors": lambda d, g: torch.normal(torch.zeros(9, device=d), torch.ones(9, device=d), generator=g),
    "normal of numbers": lambda d, g: torch.normal(0.0, 2.0, (9,), device=d, generator=g),
    "poisson": lambda d, g: torch.poisson(torch.full((9,), 4.0, device=d), generator=g),
    "binomial": lambda d, g: torch.binomial(
        torch.full((9,), 9.0, device=d), torch.full((9,), 0.4, device=d), generator=g
    ),
    "multinomial": lambda d, g: torch.multinomial(torch.arange(1.0, 20, device=d), 9, generator=g),
    "multinomial again": lambda d, g: torch.multinomial(torch.arange(1.0, 20, device=d), 30, True, generator=g),
    "rand_like": lambda d, g: torch.rand_like(torch.empty(3, 3, device=d), generator=g),
    "trunc_normal_": lambda d, g: torch.nn.init.trunc_normal_(torch.empty(9, device=d), generator=g),
    "kaiming_uniform_": lambda d, g: torch.nn.init.kaiming_uniform_(torch.empty(9, 3, device=d), generator=g),
}


@pytest.fixture(autouse=True)
def _without_warnings() -> Iterator[None]:
    """Sampling falls back, as on the real product."""
    with torch_neuron_sim.fallback_policy("silent"):
        yield


def generator(seed: int, device: str = "neuron") -> torch.Generator:
    return torch.Generator(device=device).manual_seed(seed)


def draw(source: torch.Generator, count: int = 5) -> list[float]:
    found: list[float] = torch.rand(count, generator=source, device=source.device).tolist()
    return found


@pytest.mark.parametrize("mode", ["shared", "device"])
@pytest.mark.parametrize("name", SAMPLES)
def test_every_sampler_draws_from_the_generator_it_is_given(name: str, mode: str) -> None:
    """What a CPU generator with the same seed gives, again and again; the default generators are left alone."""
    sample = SAMPLES[name]
    with torch_neuron_sim.rng_mode(mode):
        torch.manual_seed(99)
        states = [torch.get_rng_state(), torch.neuron.get_rng_state()]
        neuron, cpu = generator(5), generator(5, "cpu")
        for _ in range(3):
            found, expected = sample("neuron", neuron), sample("cpu", cpu)
            assert found.device.type == "neuron"
            assert found.dtype == expected.dtype
            assert torch.equal(found.cpu(), expected)
        assert all(map(torch.equal, states, [torch.get_rng_state(), torch.neuron.get_rng_state()]))
        assert torch.equal(neuron.get_state(), cpu.get_state())


def test_a_generator_is_on_the_device_it_was_made_for() -> None:
    assert torch.Generator(device="neuron").device == torch.device("neuron", 0)
    assert torch.Generator(device="neuron:2").device == torch.device("neuron", 2)
    with torch.neuron.device(1):
        assert torch.Generator(device="neuron").device == torch.device("neuron", 1)


def test_seeds() -> None:
    source = torch.Generator(device="neuron")
    assert source.initial_seed() == torch.Generator().initial_seed()
    assert source.manual_seed(7) is source
    assert source.initial_seed() == 7
    first = draw(source)
    assert draw(source) != first
    assert draw(generator(7)) == first
    assert draw(generator(8)) != first
    seed = source.seed()
    assert source.initial_seed() == seed != 7
    assert draw(source) == draw(generator(seed))


def test_state_is_saved_and_restored() -> None:
    source = generator(3)
    draw(source)
    state = source.get_state()
    assert state.dtype == torch.uint8
    assert state.is_cpu
    assert state.shape == torch.Generator().get_state().shape
    expected = draw(source)
    other = torch.Generator(device="neuron:1")
    for target in (source, other):
        target.set_state(state)
        assert draw(target) == expected


def test_states_of_the_wrong_kind_are_refused_and_change_nothing() -> None:
    source = generator(3)
    before = source.get_state()
    with pytest.raises(RuntimeError, match=r"size"):
        source.set_state(torch.zeros(16, dtype=torch.uint8))
    with pytest.raises(TypeError):
        source.set_state(torch.zeros(before.numel(), dtype=torch.float32))
    with pytest.raises(TypeError):
        source.set_state(before.neuron())
    assert torch.equal(source.get_state(), before)


def test_a_clone_goes_on_from_here_alone() -> None:
    source = generator(3)
    draw(source)
    clone = source.clone_state()
    assert clone.device == source.device
    expected = draw(source)
    assert draw(clone) == expected
    clone.manual_seed(1)
    assert draw(source) == draw(generator(3), 15)[10:]


def test_copies_go_on_from_here() -> None:
    source = generator(3)
    draw(source)
    made = copy.deepcopy(source)
    assert made.device == source.device
    assert draw(made) == draw(source)


def test_clone_of_a_default_generator_is_independent_of_it() -> None:
    torch.manual_seed(5)
    clone = torch.neuron.default_generators[0].clone_state()
    expected = draw(clone)
    torch.rand(10)
    clone_again = clone.clone_state()
    assert torch.rand(5, device="neuron").tolist() != expected
    torch.manual_seed(5)
    assert torch.rand(5, device="neuron").tolist() == expected
    assert draw(clone) == draw(clone_again)


KINDS = ["rand", "normal_", "randperm", "multinomial", "bernoulli", "poisson"]


@pytest.mark.parametrize("name", KINDS)
def test_a_cpu_generator_does_not_sample_on_the_device(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"'neuron' device type for generator but found 'cpu'"):
        SAMPLES[name]("neuron", generator(1, "cpu"))


@pytest.mark.parametrize("name", KINDS)
def test_a_device_generator_does_not_sample_on_cpu(name: str) -> None:
    with pytest.raises(RuntimeError, match="generator"):
        SAMPLES[name]("cpu", generator(1))
