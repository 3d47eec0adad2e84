"""TensorBoard: the writer of torch.utils.tensorboard takes neuron tensors and modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.ecosystem


@pytest.fixture
def write_and_read(library: Callable[[str], ModuleType], tmp_path: Path) -> Callable[[Callable[[Any], None]], Any]:
    """Lets a function write, and gives what TensorBoard reads."""
    writers = library("torch.utils.tensorboard")
    reader = library("tensorboard.backend.event_processing.event_accumulator")

    def run(write: Callable[[Any], None]) -> Any:
        with writers.SummaryWriter(str(tmp_path)) as writer:
            write(writer)
        return reader.EventAccumulator(str(tmp_path)).Reload()

    return run


def test_scalars(write_and_read: Callable[..., Any]) -> None:
    loss = torch.tensor(1.5, device="neuron", requires_grad=True)

    def write(writer: Any) -> None:
        for step in range(3):
            writer.add_scalar("loss", loss * step, step)

    found = write_and_read(write)
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(0, 0.0), (1, 1.5), (2, 3.0)]


def test_histogram_of_parameters(write_and_read: Callable[..., Any]) -> None:
    weights = torch.arange(6.0, device="neuron")
    (event,) = write_and_read(lambda writer: writer.add_histogram("weights", weights)).Histograms("weights")
    found = event.histogram_value
    assert (found.min, found.max, found.num, found.sum, found.sum_squares) == (0, 5, 6, 15, 55)


def test_images_text_curves_and_hyperparameters(write_and_read: Callable[..., Any]) -> None:
    images = torch.rand(2, 3, 4, 5, device="neuron")

    def write(writer: Any) -> None:
        writer.add_image("one", images[0])
        writer.add_images("both", images)
        writer.add_text("note", "text")
        writer.add_pr_curve("curve", torch.tensor([0, 1, 1], device="neuron"), torch.rand(3, device="neuron"))
        writer.add_hparams({"rate": 0.1}, {"best": images.max()})
        writer.add_embedding(torch.rand(3, 2, device="neuron"))
        writer.add_tensor("raw", images)

    found = write_and_read(write)
    (event,) = found.Images("one")
    assert (event.height, event.width) == (4, 5)
    assert set(found.Tags()["images"]) == {"one", "both"}
    assert {"note/text_summary", "curve", "raw"} <= set(found.Tags()["tensors"])


def test_graph_of_a_module(write_and_read: Callable[..., Any]) -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).to("neuron")
    found = write_and_read(lambda writer: writer.add_graph(module, torch.ones(1, 3, device="neuron")))
    names = {node.op for node in found.Graph().node}
    assert {"aten::linear", "aten::relu"} <= names
