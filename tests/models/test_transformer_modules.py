"""torch.nn's attention modules, whose eval mode takes PyTorch's fast paths (one fused operator, nested tensors)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

PADDING = torch.arange(6) >= torch.tensor([6, 3, 5]).unsqueeze(1)  # (3, 6), True where there is no token


@pytest.fixture(autouse=True)
def _prototype_notice() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The PyTorch API of nested tensors is in prototype stage")
        yield


def on_neuron(module: nn.Module) -> nn.Module:
    return copy.deepcopy(module).to("neuron")


def encoder(*, nested: bool = True, norm_first: bool = False, activation: str = "relu") -> nn.TransformerEncoder:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 24, 0.1, activation, batch_first=True, norm_first=norm_first)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="enable_nested_tensor is True, but")
        return nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=nested)


def assert_same_where_there_are_tokens(actual: Tensor, expected: Tensor) -> None:
    assert actual.device.type == "neuron"
    assert actual.shape == expected.shape
    assert torch.equal(actual.cpu()[~PADDING[:, : actual.shape[1]]], expected[~PADDING[:, : expected.shape[1]]])


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_encoder_in_eval_mode_with_padding(nested: bool, norm_first: bool, activation: str) -> None:
    model = encoder(nested=nested, norm_first=norm_first, activation=activation).eval()
    x = torch.randn(3, 6, 16)
    with torch.no_grad():
        expected = model(x, src_key_padding_mask=PADDING)
        actual = on_neuron(model)(x.to("neuron"), src_key_padding_mask=PADDING.to("neuron"))
    assert torch.equal(actual.cpu(), expected)


def test_encoder_fills_padding_with_zeros_on_the_nested_path() -> None:
    model = on_neuron(encoder().eval())
    with torch.no_grad():
        out = model(torch.randn(3, 6, 16).to("neuron"), src_key_padding_mask=PADDING.to("neuron"))
    assert out.cpu()[PADDING].abs().max() == 0
    assert out.cpu()[~PADDING].abs().min() > 0


def test_nested_path_ignores_what_padding_holds() -> None:
    model = on_neuron(encoder().eval())
    x = torch.randn(3, 6, 16)
    other = x.masked_fill(PADDING.unsqueeze(-1), 100.0)
    with torch.no_grad():
        one, two = (model(t.to("neuron"), src_key_padding_mask=PADDING.to("neuron")).cpu() for t in (x, other))
    assert torch.equal(one, two)


def test_encoder_trains_with_padding_as_on_cpu() -> None:
    gradients = []
    for device in ("cpu", "neuron"):
        model = encoder().train().to(device)
        torch.manual_seed(1)
        x = torch.randn(3, 6, 16).to(device).requires_grad_()
        out = model(x, src_key_padding_mask=PADDING.to(device))
        out[~PADDING.to(device)].square().sum().backward()
        assert x.grad is not None
        gradients.append([x.grad.cpu(), *(p.grad.cpu() for p in model.parameters() if p.grad is not None)])
    assert len(gradients[0]) == 1 + 24
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_encoder_with_causal_mask(mode: str) -> None:
    model = encoder().train(mode == "train")
    x, mask = torch.randn(3, 6, 16), nn.Transformer.generate_square_subsequent_mask(6)
    results = []
    for device, module in (("cpu", model), ("neuron", on_neuron(model))):
        torch.manual_seed(2)
        with torch.no_grad():
            results.append(module(x.to(device), mask=mask.to(device), is_causal=True).cpu())
    assert torch.equal(*results)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_multihead_attention(mode: str, weights: bool, averaged: bool) -> None:
    torch.manual_seed(0)
    model = nn.MultiheadAttention(16, 4, batch_first=True).train(mode == "train")
    x = torch.randn(3, 6, 16)
    options = {"need_weights": weights, "average_attn_weights": averaged}
    with torch.set_grad_enabled(mode == "train"):
        expected, expected_weights = model(x, x, x, key_padding_mask=PADDING, **options)
        y, mask = x.to("neuron"), PADDING.to("neuron")
        actual, actual_weights = on_neuron(model)(y, y, y, key_padding_mask=mask, **options)
    assert torch.equal(actual.cpu(), expected)
    assert (actual_weights is None) == (expected_weights is None) == (not weights)
    if weights:
        assert torch.equal(actual_weights.cpu(), expected_weights)


def test_multihead_attention_over_another_sequence_with_its_own_widths() -> None:
    torch.manual_seed(0)
    model = nn.MultiheadAttention(16, 2, kdim=10, vdim=12, add_bias_kv=True, add_zero_attn=True)
    query, key, value = torch.randn(4, 3, 16), torch.randn(7, 3, 10), torch.randn(7, 3, 12)
    expected = model(query, key, value)
    actual = on_neuron(model)(query.to("neuron"), key.to("neuron"), value.to("neuron"))
    assert all(torch.equal(a.cpu(), e) for a, e in zip(actual, expected, strict=True))


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_transformer_reads_one_sequence_and_writes_another(mode: str) -> None:
    results = []
    for device in ("cpu", "neuron"):
        torch.manual_seed(0)
        model = nn.Transformer(16, 2, 1, 1, 24, batch_first=True).train(mode == "train").to(device)
        source, target = torch.randn(3, 6, 16).to(device), torch.randn(3, 4, 16).to(device)
        mask = nn.Transformer.generate_square_subsequent_mask(4, device=torch.device(device))
        padding = PADDING.to(device)
        out = model(
            source,
            target,
            tgt_mask=mask,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        out.square().mean().backward()
        results.append([out.detach().cpu(), *(p.grad.cpu() for p in model.parameters() if p.grad is not None)])
    assert len(results[0]) > 20
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
