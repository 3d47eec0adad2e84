"""Recurrent layers on the device compute step by step: bit for bit what a loop over the cells computes on CPU."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

CELLS: dict[Any, Any] = {nn.RNN: nn.RNNCell, nn.GRU: nn.GRUCell, nn.LSTM: nn.LSTMCell}
KINDS = pytest.mark.parametrize("kind", list(CELLS), ids=lambda kind: kind.__name__)


def loop(layer: nn.RNNBase, kind: Any, x: Tensor, suffix: str) -> tuple[Tensor, nn.RNNCellBase]:
    """The outputs of one layer in one direction, and the cell that holds its parameters."""
    cell = CELLS[kind](layer.input_size, layer.hidden_size, layer.bias)
    cell.load_state_dict({name: getattr(layer, name + suffix).detach() for name, _ in cell.named_parameters()})
    hidden = torch.zeros(x.shape[1], layer.hidden_size)
    state, outputs = (hidden, hidden) if kind is nn.LSTM else hidden, []
    for step in x.flip(0) if suffix.endswith("reverse") else x:
        state = cell(step, state)
        outputs.append(state[0] if kind is nn.LSTM else state)
    return torch.stack(outputs[::-1] if suffix.endswith("reverse") else outputs), cell


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@KINDS
def test_layer_is_its_cell_in_a_loop(kind: Any, bias: bool, bidirectional: bool) -> None:
    torch.manual_seed(0)
    layer = kind(12, 16, bias=bias, bidirectional=bidirectional)
    x = torch.randn(7, 3, 12).requires_grad_()
    suffixes = ["_l0", "_l0_reverse"] if bidirectional else ["_l0"]
    outputs, cells = zip(*(loop(layer, kind, x, suffix) for suffix in suffixes), strict=True)
    weights = torch.randn(7, 3, 16 * len(suffixes))
    expected = torch.cat(outputs, dim=-1)
    (expected * weights).sum().backward()

    there, y = copy.deepcopy(layer).to("neuron"), x.detach().to("neuron").requires_grad_()
    actual, _ = there(y)
    (actual * weights.to("neuron")).sum().backward()
    assert torch.equal(actual.cpu(), expected)
    assert x.grad is not None and y.grad is not None
    if not bidirectional:  # else autograd adds up the steps of two directions in another order
        assert torch.equal(y.grad.cpu(), x.grad)
    for suffix, cell in zip(suffixes, cells, strict=True):
        for name, parameter in cell.named_parameters():
            gradient = getattr(there, name + suffix).grad
            assert parameter.grad is not None and torch.equal(gradient.cpu(), parameter.grad), name


@KINDS
def test_layer_agrees_with_cpu_within_rounding(kind: Any) -> None:
    """CPU multiplies the inputs of all steps at once, and runs an LSTM in a layer of oneDNN's."""
    torch.manual_seed(0)
    layer = kind(12, 16, num_layers=2, bidirectional=True, batch_first=True)
    x = torch.randn(3, 7, 12)
    expected, expected_state = layer(x)
    actual, state = layer.to("neuron")(x.to("neuron"))
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-5, atol=1e-6)
    if kind is nn.LSTM:
        state, expected_state = torch.cat(state), torch.cat(expected_state)
    torch.testing.assert_close(state.cpu(), expected_state, rtol=1e-5, atol=1e-6)


@KINDS
def test_packed_sequences_end_where_they_end(kind: Any) -> None:
    torch.manual_seed(0)
    layer = kind(5, 4, bidirectional=True).to("neuron")
    sequences = [torch.randn(length, 5).to("neuron") for length in (6, 2, 4)]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
    assert lengths.tolist() == [6, 2, 4]
    for column, sequence in enumerate(sequences):
        alone, _ = layer(sequence.unsqueeze(1))
        # Products of other shapes: a packed batch holds several sequences.
        torch.testing.assert_close(padded[: len(sequence), column], alone[:, 0], rtol=1e-5, atol=1e-6)
        assert not padded[len(sequence) :, column].any()
