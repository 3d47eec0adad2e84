"""Lightning: ``Trainer(strategy=NeuronStrategy())`` trains on the device as on CPU."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

pytestmark = pytest.mark.ecosystem


@pytest.fixture(scope="module")
def pl(library: Callable[[str], ModuleType]) -> ModuleType:
    return library("lightning.pytorch")


@pytest.fixture(scope="module")
def ours(pl: ModuleType, library: Callable[[str], ModuleType]) -> ModuleType:
    return library("torch_neuron_sim.integrations.lightning")


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "log_every_n_steps": 1}
    return {"max_epochs": 2, "default_root_dir": tmp_path, "gradient_clip_val": 1.0, **quiet}


@pytest.fixture(scope="module")
def make_module(pl: ModuleType) -> Callable[[], Any]:
    class Classifier(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 3))
            self.losses: list[float] = []
            self.seen: set[tuple[str, torch.dtype]] = set()

        def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
            logits = self.net(batch[0])
            self.seen.add((str(logits.device), logits.dtype))
            loss = nn.functional.cross_entropy(logits.float(), batch[1])
            self.losses.append(loss.item())
            self.log("loss", loss)
            return loss

        def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
            self.log("validated", nn.functional.cross_entropy(self.net(batch[0]).float(), batch[1]))

        def predict_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
            return self.net(batch[0])

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2, foreach=False)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    def make() -> Any:
        pl.seed_everything(3, verbose=False)
        return Classifier()

    return make


def loader() -> DataLoader[tuple[Tensor, ...]]:
    drawn = torch.Generator().manual_seed(0)
    x, y = torch.randn(32, 8, generator=drawn), torch.randint(3, (32,), generator=drawn)
    return DataLoader(TensorDataset(x, y), batch_size=8)


def fit(pl: ModuleType, module: Any, **options: Any) -> Any:
    trainer = pl.Trainer(**options)
    trainer.fit(module, loader(), loader())
    return trainer


def test_losses_metrics_weights_and_predictions_are_those_of_cpu(
    pl: ModuleType,
    ours: ModuleType,
    make_module: Callable[[], Any],
    options: dict[str, Any],
    bits: Callable[[Any], Any],
) -> None:
    runs = []
    for chosen in ({"accelerator": "cpu"}, {"strategy": ours.NeuronStrategy()}):
        module = make_module()
        trainer = fit(pl, module, **chosen, **options)
        metrics = {name: value.item() for name, value in trainer.callback_metrics.items()}
        runs.append((module.losses, metrics, bits(trainer.predict(module, loader())), bits(module.state_dict())))
    assert len(runs[0][0]) == 8
    assert runs[1] == runs[0]
    assert module.seen == {("neuron:0", torch.float32)}


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("bf16-mixed", torch.bfloat16), ("16-mixed", torch.float16), ("bf16-true", torch.bfloat16)],
)
@pytest.mark.filterwarnings("ignore:.*GradScaler is enabled, but CUDA is not available")
def test_precision(
    precision: str, dtype: torch.dtype, pl: ModuleType, ours: ModuleType, make_module: Callable[[], Any],
    options: dict[str, Any],
) -> None:  # fmt: skip
    module = make_module()
    fit(pl, module, strategy=ours.NeuronStrategy(1), precision=precision, **options)
    assert module.seen == {("neuron:1", dtype)}
    assert {p.dtype for p in module.parameters()} == {dtype if "true" in precision else torch.float32}
    assert module.losses[-1] < module.losses[0]


def test_checkpoint_is_read_on_any_device(
    pl: ModuleType, ours: ModuleType, make_module: Callable[[], Any], options: dict[str, Any], tmp_path: Path,
    bits: Callable[[Any], Any],
) -> None:  # fmt: skip
    module = make_module()
    fit(pl, module, strategy=ours.NeuronStrategy(), **options).save_checkpoint(tmp_path / "c.ckpt")
    for place in ("cpu", "neuron:1"):
        read = type(module).load_from_checkpoint(tmp_path / "c.ckpt", map_location=place)
        assert str(read.device) == place
        assert bits(read.state_dict()) == bits(module.state_dict())


def test_memory_statistics_are_logged(
    pl: ModuleType, ours: ModuleType, make_module: Callable[[], Any], options: dict[str, Any], tmp_path: Path
) -> None:
    options["logger"] = pl.loggers.CSVLogger(tmp_path)
    fit(pl, make_module(), strategy=ours.NeuronStrategy(), callbacks=[pl.callbacks.DeviceStatsMonitor()], **options)
    (file,) = tmp_path.rglob("metrics.csv")
    column = "DeviceStatsMonitor.on_train_batch_end/allocated_bytes.all.current"
    logged = [float(row[column]) for row in csv.DictReader(file.open()) if row[column]]
    assert len(logged) == 8
    assert min(logged) > 0


def test_fabric(library: Callable[[str], ModuleType], ours: ModuleType) -> None:
    strategies = library("lightning.fabric.strategies")
    fabric = library("lightning.fabric").Fabric(
        strategy=strategies.SingleDeviceStrategy(device="neuron:1", accelerator=ours.NeuronAccelerator())
    )
    fabric.launch()
    module = nn.Linear(2, 1)
    module, optimizer = fabric.setup(module, torch.optim.SGD(module.parameters(), lr=0.1))
    loss = module(fabric.to_device(torch.ones(3, 2))).sum()
    fabric.backward(loss)
    optimizer.step()
    assert loss.device == module.weight.device == fabric.device == torch.device("neuron", 1)


def test_an_accelerator_without_the_strategy_is_refused(
    pl: ModuleType, ours: ModuleType, make_module: Callable[[], Any], options: dict[str, Any]
) -> None:
    """Lightning would train on CPU."""
    with pytest.raises(Exception, match=r"pass strategy=NeuronStrategy\(\)"):
        fit(pl, make_module(), accelerator=ours.NeuronAccelerator(), devices=1, **options)


@pytest.mark.parametrize("devices", [2, [0, 1], "2", "0,1"], ids=str)
def test_more_than_one_device_is_refused(devices: Any, pl: ModuleType, ours: ModuleType) -> None:
    with pytest.raises(Exception, match="a process trains on one"):
        pl.Trainer(strategy=ours.NeuronStrategy(), devices=devices, logger=False)


def test_index_out_of_range(ours: ModuleType) -> None:
    with pytest.raises(ValueError, match="Invalid device id: 99"):
        ours.NeuronStrategy(99)
