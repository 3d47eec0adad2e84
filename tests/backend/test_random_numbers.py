"""Where numbers come from when no generator is named: the CPU's stream, or in the mode ``device`` each device's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import torch_neuron_sim
from torch_neuron_sim import rng_mode

neuron = torch.neuron

# Samplers that take no generator, or none here.
SAMPLES: dict[str, Callable[[str], Tensor]] = {
    "randn": lambda d: torch.randn(9, device=d),
    "rand": lambda d: torch.rand(9, device=d, dtype=torch.float64),
    "randint": lambda d: torch.randint(100, (9,), device=d),
    "randperm": lambda d: torch.randperm(9, device=d),
    "normal_": lambda d: torch.empty(99, device=d).normal_(),
    "multinomial": lambda d: torch.ones(9, device=d).multinomial(5),
    "bernoulli": lambda d: torch.full((9,), 0.5, device=d).bernoulli(),
    "dropout": lambda d: F.dropout(torch.ones(99, device=d), 0.4),
    "alpha_dropout": lambda d: F.alpha_dropout(torch.ones(99, device=d), 0.4, training=True),
    "dropout2d": lambda d: F.dropout2d(torch.ones(2, 9, 3, 3, device=d), 0.4),
    "rrelu": lambda d: F.rrelu(-torch.ones(9, device=d), training=True),
    "gumbel_softmax": lambda d: F.gumbel_softmax(torch.ones(3, 4, device=d)),
    "distribution": lambda d: torch.distributions.Gamma(
        torch.full((5,), 2.0, device=d), torch.ones(5, device=d)
    ).sample(),
    "attention": lambda d: F.scaled_dot_product_attention(*[torch.ones(1, 1, 9, 8, device=d)] * 3, dropout_p=0.5),
    "rand_like": lambda d: torch.rand_like(torch.empty(3, 3, device=d)),
    "linear": lambda d: torch.nn.Linear(3, 4, device=d).weight.detach(),
    "fractional_max_pool": lambda d: F.fractional_max_pool2d(torch.arange(64.0, device=d).reshape(1, 1, 8, 8), 2, 3),
}


@pytest.fixture(autouse=True)
def _as_found() -> Iterator[None]:
    """Sampling falls back; the CPU's stream goes on where it was."""
    state = torch.get_rng_state()
    with torch_neuron_sim.fallback_policy("silent"):
        yield
    torch.set_rng_state(state)


def test_modes_are_chosen_and_restored() -> None:
    assert rng_mode() == "shared"
    with rng_mode("device"):
        assert rng_mode() == "device"
    assert rng_mode() == "shared"
    with pytest.raises(ValueError, match=r"rng_mode: 'philox' is not a legal value. Legal: shared, device"):
        rng_mode("philox")


@pytest.mark.parametrize("name", SAMPLES)
def test_seeded_program_draws_on_the_device_what_it_draws_on_cpu(name: str) -> None:
    found, expected = [(torch.manual_seed(3), SAMPLES[name](d), SAMPLES[name](d))[1:] for d in ("neuron", "cpu")]
    for one, other in zip(found, expected, strict=True):
        assert one.device.type == "neuron"
        assert torch.equal(one.cpu(), other)


def test_alternating_host_and_device_draws_are_those_of_a_program_on_cpu() -> None:
    def program(device: str) -> list[Tensor]:
        torch.manual_seed(11)
        places = [device, "cpu", device, device, "cpu"]
        return [sample(places[i % 5]).cpu() for i, sample in enumerate((*SAMPLES.values(), *SAMPLES.values()))]

    assert all(map(torch.equal, program("neuron"), program("cpu")))


def test_every_device_and_the_host_share_one_stream() -> None:
    torch.manual_seed(4)
    expected = torch.rand(20).split(5)
    torch.manual_seed(4)
    drawn = [torch.rand(5, device=device).cpu() for device in ("neuron:1", "cpu", "neuron:0", "neuron:1")]
    assert torch.equal(torch.cat(drawn), torch.cat(expected))


def test_seeding_functions_of_the_module() -> None:
    for seed_it in (neuron.manual_seed, neuron.manual_seed_all):
        seed_it(5)
        assert neuron.initial_seed() == torch.initial_seed() == 5
        one = torch.randn(3, device="neuron")
        torch.manual_seed(5)
        assert torch.equal(one.cpu(), torch.randn(3))
    for seed_it in (neuron.seed, neuron.seed_all):
        seed_it()
        assert neuron.initial_seed() == torch.initial_seed() != 5
    assert torch.equal(neuron.get_rng_state(), torch.get_rng_state())


def test_state_is_that_of_the_cpu() -> None:
    state = neuron.get_rng_state("neuron:1")
    assert state.dtype == torch.uint8
    assert state.is_cpu
    assert torch.equal(state, torch.get_rng_state())
    expected = torch.rand(4, device="neuron").tolist()
    neuron.set_rng_state(state)
    assert torch.rand(4, device="neuron").tolist() == expected
    neuron.set_rng_state(state, "neuron:2")
    assert torch.rand(4).tolist() == expected
    assert len(neuron.get_rng_state_all()) == neuron.device_count()
    neuron.set_rng_state_all([state] * neuron.device_count())
    assert torch.rand(4).tolist() == expected
    with pytest.raises(RuntimeError, match="size"):
        neuron.set_rng_state(torch.zeros(16, dtype=torch.uint8))


@pytest.mark.parametrize("mode", ["shared", "device"])
def test_fork_rng_restores_the_stream(mode: str) -> None:
    with rng_mode(mode):
        torch.manual_seed(8)
        expected = torch.rand(3, device="neuron:1").tolist()
        torch.manual_seed(8)
        with torch.random.fork_rng(devices=range(neuron.device_count()), device_type="neuron"):
            torch.manual_seed(77)
            torch.rand(5, device="neuron:1")
        with torch.random.fork_rng(devices=[1], device_type="neuron"):
            torch.rand(5, device="neuron:1")
        assert torch.rand(3, device="neuron:1").tolist() == expected


@pytest.mark.parametrize("arguments", [{}, {"device_type": "neuron"}, {"devices": [0], "device_type": "neuron"}])
def test_fork_rng_restores_both_streams_however_it_is_called(arguments: dict[str, Any]) -> None:
    torch.manual_seed(8)
    expected = torch.rand(2, device="neuron").tolist(), torch.rand(2).tolist()
    torch.manual_seed(8)
    with torch.random.fork_rng(**arguments):
        torch.rand(9, device="neuron"), torch.rand(9)
        torch.manual_seed(99)
    assert (torch.rand(2, device="neuron").tolist(), torch.rand(2).tolist()) == expected
    torch.manual_seed(8)
    with torch.random.fork_rng(enabled=False):
        torch.rand(9, device="neuron")
    assert torch.rand(2, device="neuron").tolist() != expected[0]


def test_states_of_the_wrong_kind_are_refused_and_change_nothing() -> None:
    before = neuron.get_rng_state()
    for state in (before.neuron(), before.float()):
        with pytest.raises(TypeError, match="set_rng_state: the state has to be a uint8 tensor on cpu"):
            neuron.set_rng_state(state)
    assert torch.equal(neuron.get_rng_state(), before)


def test_checkpointed_dropout_draws_the_same_mask_again() -> None:
    x = torch.ones(1000, device="neuron", requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(lambda t: F.dropout(t, 0.5), x, use_reentrant=False)
    out.sum().backward()
    assert torch.equal(out, x.grad)


def test_device_mode_gives_each_device_a_stream_of_its_own() -> None:
    with rng_mode("device"):
        torch.manual_seed(2)  # seeds all of them
        first, second = torch.rand(5, device="neuron:0"), torch.rand(5, device="neuron:1")
        assert torch.equal(first.cpu(), second.cpu())
        neuron.manual_seed(3)  # the current device alone
        assert neuron.initial_seed() == 3
        assert torch.initial_seed() == 2
        with neuron.device(1):
            assert neuron.initial_seed() == 2
        neuron.manual_seed_all(6)
        assert torch.equal(torch.rand(5, device="neuron:0").cpu(), torch.rand(5, device="neuron:1").cpu())
        neuron.seed_all()
        assert len({generator.initial_seed() for generator in neuron.default_generators}) == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_device_mode_leaves_the_cpu_stream_alone(name: str) -> None:
    """And draws what a CPU seeded alike would."""
    with rng_mode("device"):
        torch.manual_seed(2)
        expected = [SAMPLES[name]("cpu") for _ in range(2)]
        torch.manual_seed(2)
        before = torch.get_rng_state()
        found = [SAMPLES[name]("neuron").cpu() for _ in range(2)]
        assert torch.equal(torch.get_rng_state(), before)
        assert all(map(torch.equal, found, expected))


def test_default_generators_act_on_the_stream_in_force() -> None:
    default = neuron.default_generators[1]
    assert default.device == torch.device("neuron", 1)
    default.manual_seed(12)
    assert torch.initial_seed() == 12
    assert (
        torch.rand(3, device="neuron:1", generator=default).tolist()
        == torch.rand(3, generator=torch.Generator().manual_seed(12)).tolist()
    )
    with rng_mode("device"):
        default.manual_seed(13)
        assert torch.initial_seed() == 12
