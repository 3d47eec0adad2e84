"""torch.func on models, and torch.nn.utils."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune


def small(device: str) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).to(device)


def test_gradients_for_each_sample(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        model = small(device)
        parameters = dict(model.named_parameters())

        def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
            return (torch.func.functional_call(model, parameters, (x,)) - y).square().sum()

        x, y = torch.randn(4, 3).to(device), torch.randn(4, 1).to(device)
        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
        for row in range(4):
            one = torch.func.grad(loss)(parameters, x[row], y[row])
            for name, value in one.items():
                torch.testing.assert_close(each[name][row], value, rtol=1e-5, atol=1e-6)
        return list(each.values())

    assert len(on_both(run)) == 4


@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian", "jvp", "vjp"])
def test_transforms(transform: str, on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        model, x = small(device), torch.randn(3).to(device)

        def function(x: Tensor) -> Tensor:
            return model(x).squeeze()

        if transform == "jvp":
            return list(torch.func.jvp(function, (x,), (torch.ones_like(x),)))
        if transform == "vjp":
            value, pull = torch.func.vjp(function, x)
            return [value, *pull(torch.ones_like(value))]
        return [getattr(torch.func, transform)(function)(x)]

    on_both(run)


def test_ensemble_of_stacked_models(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        models = [small(device) for _ in range(3)]
        parameters, buffers = torch.func.stack_module_state(models)
        x = torch.randn(4, 3).to(device)

        def call(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(models[0], (parameters, buffers), (x,))

        together = torch.func.vmap(call)(parameters, buffers)
        torch.testing.assert_close(together, torch.stack([model(x) for model in models]), rtol=1e-5, atol=1e-6)
        return [together]

    on_both(run)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers_under_vmap(randomness: str, on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        x = torch.zeros(3, 4).to(device)
        return [torch.func.vmap(lambda row: row + torch.rand_like(row), randomness=randomness)(x)]

    (drawn,) = on_both(run)
    assert torch.equal(drawn[0], drawn[1]) == (randomness == "same")


PARAMETRIZATIONS = {
    "weight_norm": parametrizations.weight_norm,
    "spectral_norm": parametrizations.spectral_norm,
    "orthogonal": parametrizations.orthogonal,
}


@pytest.mark.parametrize("name", PARAMETRIZATIONS)
@pytest.mark.parametrize("on_device_first", [False, True])
def test_parametrized_layer_trains(name: str, on_device_first: bool, on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        layer = nn.Linear(4, 4)
        if on_device_first:
            layer = PARAMETRIZATIONS[name](layer.to(device))
        else:
            layer = PARAMETRIZATIONS[name](layer).to(device)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, foreach=True)
        for _ in range(3):
            optimizer.zero_grad()
            layer(torch.randn(5, 4).to(device)).square().sum().backward()
            optimizer.step()
        layer.eval()
        found = [layer.weight, *layer.parameters()]
        parametrize.remove_parametrizations(layer, "weight")
        assert torch.equal(layer.weight, found[0])
        return found

    weight = on_both(run)[0]
    if name == "spectral_norm":
        assert torch.linalg.matrix_norm(weight, 2).item() == pytest.approx(1, abs=0.3)
    if name == "orthogonal":
        torch.testing.assert_close(weight @ weight.t(), torch.eye(4), rtol=0, atol=1e-5)


def test_pruning(on_both: Any) -> None:
    def run(device: str) -> list[Tensor]:
        layer = nn.Linear(6, 4).to(device)
        prune.l1_unstructured(layer, "weight", amount=0.5)
        layer(torch.randn(3, 6).to(device)).sum().backward()
        assert layer.weight_orig.grad is not None
        kept = layer.weight_mask.clone()
        prune.remove(layer, "weight")
        return [layer.weight, kept]

    weight, mask = on_both(run)
    assert int((weight == 0).sum()) == int((mask == 0).sum()) == 12


def test_parameters_as_one_vector_and_back() -> None:
    model = small("neuron")
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.device.type == "neuron"
    nn.utils.vector_to_parameters(vector * 2, model.parameters())
    assert torch.equal(nn.utils.parameters_to_vector(model.parameters()), vector * 2)
    with pytest.raises(TypeError, match="Found two parameters on different devices"):
        nn.utils.parameters_to_vector([*model.parameters(), nn.Parameter(torch.ones(1))])


def test_convolution_fused_with_its_batch_norm_gives_the_same() -> None:
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(2, 3, 3).to("neuron").eval(), nn.BatchNorm2d(3).to("neuron")
    norm(torch.randn(4, 3, 5, 5).to("neuron"))
    norm.eval()
    x = torch.randn(2, 2, 6, 6).to("neuron")
    fused = nn.utils.fuse_conv_bn_eval(conv, norm)
    torch.testing.assert_close(fused(x), norm(conv(x)), rtol=1e-4, atol=1e-5)


INITIALIZERS = [
    nn.init.uniform_,
    nn.init.normal_,
    nn.init.xavier_uniform_,
    nn.init.kaiming_normal_,
    nn.init.orthogonal_,
    nn.init.trunc_normal_,
    nn.init.eye_,
]


@pytest.mark.parametrize("initialize", INITIALIZERS, ids=lambda f: f.__name__)
def test_initializers_draw_what_they_draw_on_cpu(initialize: Any, on_both: Any) -> None:
    on_both(lambda device: [initialize(torch.empty(6, 4, device=device)), torch.rand(3, device=device)])
