"""torchmetrics: metrics moved to the device keep their state there, and give CPU's values."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

pytestmark = pytest.mark.ecosystem

CLASSES = {"task": "multiclass", "num_classes": 4}
# name -> options; grouped by what a metric is given.
METRICS: dict[str, dict[str, dict[str, Any]]] = {
    "classes": {
        "Accuracy": CLASSES,
        "AUROC": CLASSES,
        "CalibrationError": CLASSES,
        "ConfusionMatrix": CLASSES,
        "F1Score": {**CLASSES, "average": "macro"},
        "Precision": {**CLASSES, "average": "macro"},
    },
    "binary": {
        "AUROC": {"task": "binary"},
        "AveragePrecision": {"task": "binary"},
        "PrecisionRecallCurve": {"task": "binary", "thresholds": 5},
        "StatScores": {"task": "binary"},
    },
    "numbers": {
        "KendallRankCorrCoef": {},
        "MeanAbsoluteError": {},
        "MeanSquaredError": {},
        "PearsonCorrCoef": {},
        "R2Score": {},
        "SpearmanCorrCoef": {},
    },
    "images": {
        "image.PeakSignalNoiseRatio": {"data_range": 1.0},
        "image.StructuralSimilarityIndexMeasure": {"data_range": 1.0},
        "image.TotalVariation": {},
    },
    "text": {"text.Perplexity": {}},
    "values": {"CatMetric": {}, "MaxMetric": {}, "MeanMetric": {}},
}
CASES = [(group, name) for group, metrics in METRICS.items() for name in metrics]


@pytest.fixture(scope="module")
def torchmetrics(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("torchmetrics")


def batch(group: str) -> tuple[Tensor, ...]:
    if group == "classes":
        return torch.randn(20, 4).softmax(-1), torch.randint(4, (20,))
    if group == "binary":
        return torch.rand(30), torch.randint(2, (30,))
    if group == "images":
        images = torch.rand(2, 3, 16, 16)
        return images, images * 0.9
    if group == "text":
        return torch.randn(2, 5, 4), torch.randint(4, (2, 5))
    return (torch.rand(30),) if group == "values" else (torch.rand(30), torch.rand(30))


@pytest.mark.parametrize(("group", "name"), CASES)
def test_value_over_two_batches_is_that_of_cpu(
    group: str, name: str, torchmetrics: ModuleType, bits: Callable[[Any], Any]
) -> None:
    def run(device: str) -> Any:
        torch.manual_seed(0)
        kind: Any = torchmetrics
        for part in name.split("."):
            kind = getattr(kind, part)
        metric = kind(**METRICS[group][name]).to(device)
        for _ in range(2):
            tensors = batch(group)
            tensors = tensors[:1] if name == "image.TotalVariation" else tensors
            metric.update(*(tensor.to(device) for tensor in tensors))
        value = metric.compute()
        for tensor in value if isinstance(value, tuple) else [value]:
            assert tensor.device.type == device
        return value

    assert bits(run("neuron")) == bits(run("cpu"))


def test_collection_and_reset(torchmetrics: ModuleType) -> None:
    both = torchmetrics.MetricCollection([torchmetrics.Accuracy(**CLASSES), torchmetrics.F1Score(**CLASSES)])
    both.to("neuron")
    guess, truth = torch.eye(4, device="neuron"), torch.tensor([0, 1, 2, 0], device="neuron")
    assert {value.item() for value in both(guess, truth).values()} == {0.75}
    assert {value.device for value in both.compute().values()} == {torch.device("neuron", 0)}
    both.reset()
    assert {value.item() for value in both(guess, truth.new_tensor([0, 1, 2, 3])).values()} == {1}


def test_metric_and_tensors_on_two_devices_are_refused_as_elsewhere(torchmetrics: ModuleType) -> None:
    metric = torchmetrics.MeanSquaredError().to("neuron")
    with pytest.raises(RuntimeError, match="device"):
        metric.update(torch.ones(2), torch.ones(2, device="neuron"))
