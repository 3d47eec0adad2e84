"""Chip files: every constant with unit and source, and what a bad file is refused for."""

from __future__ import annotations

from pathlib import Path

import pytest

import torch_neuron_sim
from torch_neuron_sim import _C
from torch_neuron_sim.hardware import chips, units

SHIPPED = ("trainium2", "trainium3")
FOLDER = Path(chips.__file__).parent

every_chip = pytest.mark.parametrize("name", SHIPPED)


@every_chip
def test_every_constant_has_unit_and_source(name: str) -> None:
    chip = chips.shipped(name)
    assert list(chip.constants) == list(chips.DIMENSIONS)
    for constant in chip.constants.values():
        assert units.UNITS[constant.unit].dimension == chips.DIMENSIONS[constant.name]
        # What no source gives is an assumption, and says so.
        assert constant.source.startswith(("Neuron docs, ", "Users: ")) or (
            constant.source,
            bool(constant.assumption),
        ) == (
            "Ours",
            True,
        )


def test_every_chip_is_shipped() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(SHIPPED)


@every_chip
@pytest.mark.parametrize("lnc", [1, 2])
def test_the_model_takes_exactly_what_a_chip_gives(name: str, lnc: int) -> None:
    model = chips.shipped(name).model(lnc)
    assert model.keys() == _C.chip().keys()
    assert model["lnc"] == lnc


def test_figures_in_the_units_of_the_model() -> None:
    chip = chips.shipped("trainium2")
    assert chip.amount("hbm_stack_memory") == 25_769_803_776  # 24 GiB
    assert chip.amount("dma_latency") == 1300  # ns
    assert chip.amount("tensor_clock") == 2.4  # cycles/ns
    assert chip.amount("core_peak_bf16") == 79_000  # flop/ns
    assert str(chip.constants["hbm_bandwidth"]) == "2.9 TB/s"
    # The lower of the HBM's eighth, 2,900 / 8, and 368; and of 4,900 / 8 and 528. In bytes/ns.
    assert chip.model(1)["memory_bandwidth"] == 362.5
    assert chips.shipped("trainium3").model(1)["memory_bandwidth"] == 528


@every_chip
def test_peaks_are_those_of_array_and_clock(name: str) -> None:
    # 128 x 128 multiply-adds a cycle; published figures are rounded.
    chip = chips.shipped(name)
    array = 2 * 128 * 128 * chip.amount("tensor_clock")
    assert chip.amount("core_peak_bf16") == pytest.approx(array, rel=0.01)
    assert chip.amount("core_peak_fp8") == pytest.approx(2 * array, rel=0.01)
    assert chip.amount("core_peak_fp32") == pytest.approx(array / 4, rel=0.02)


def test_the_process_has_the_chip_of_its_instance() -> None:
    topology = _C.topology()
    chip = torch_neuron_sim.hardware.chip()
    assert chip == chips.shipped(topology["chip"])
    assert _C.chip() == chip.model(topology["lnc"])
    assert topology["cores_per_chip"] == chip.amount("cores")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "Trainium2"', "", "needs name and core"),
        ('name = "Trainium2"', 'name = "Trainium2"\nextra = 1', "unknown key 'extra'"),
        ("[constants.sbuf]", "[constants.sbufs]", "unknown constant 'sbufs'"),
        ("[constants.sbuf]\nvalue = 28\n", "[constants.sbuf]\n", "constant 'sbuf' needs value, unit and source"),
        ("value = 28\n", "value = 28\nnote = 1\n", "constant 'sbuf' needs value, unit and source"),
        ("value = 28\n", "value = -28\n", "'sbuf': -28 is not a finite number"),
        ("value = 28\n", "value = inf\n", "'sbuf': inf is not a finite number"),
        ("value = 28\n", "value = true\n", "'sbuf': True is not a finite number"),
        ("value = 28\n", 'value = "28"\n', "'sbuf': '28' is not a finite number"),
        ('unit = "MiB"', 'unit = "GB/s"', "unit 'GB/s' does not measure memory. Legal: B, KiB, MiB, GiB"),
        ('unit = "MiB"', 'unit = ""', "'sbuf': unit has to be a text"),
        ("[constants.sbuf]", "constants.sbuf", "line"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (FOLDER / "trainium2.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        chips.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_constant_that_is_missing_is_named(tmp_path: Path) -> None:
    text = (FOLDER / "trainium2.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text[: text.index("[constants.cold_compile]")], encoding="utf-8")
    with pytest.raises(ValueError, match=r"constants are missing: cold_compile$"):
        chips.load(path)


def test_the_model_refuses_what_it_cannot_divide_by() -> None:
    model = chips.shipped("trainium2").model(1)
    for name, value in (("tensor_clock", 0.0), ("dma_latency", -1.0), ("partitions", float("nan"))):
        with pytest.raises(ValueError, match=f"chip constant {name} is .*; it has to be a finite number"):
            _C.set_chip({**model, name: value})
    with pytest.raises(ValueError, match="there is no constant 'partitions'"):
        _C.set_chip({name: value for name, value in model.items() if name != "partitions"})
    with pytest.raises(ValueError, match="'nonsense' is no constant"):
        _C.set_chip({**model, "nonsense": 1.0})
