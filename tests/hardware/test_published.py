"""What AWS published of single devices, against the model; and docs/hardware.md says how far off it is."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

TABLES: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("tables.py")))


@pytest.fixture
def points() -> list[Any]:
    found: list[Any] = TABLES["points"]()
    return found


def test_one_full_matmul_instruction(points: list[Any]) -> None:
    (point,) = (each for each in points if each.what.startswith("matmul 128 x 128 x 512"))
    assert point.modelled == pytest.approx(213, rel=0.01)


def test_a_small_add(points: list[Any]) -> None:
    """Its size is not published: one element is below the range, one tile within it."""
    element, tile = (each for each in points if each.high == 4100)
    assert 0.8 * element.low < element.modelled <= element.low
    assert tile.low <= tile.modelled <= tile.high


def test_decode_steps_are_bounded_from_below(points: list[Any]) -> None:
    """The model times products with weights alone: attention, normalisation, collectives and launches come on top."""
    bounds = [each for each in points if each.bound]
    assert len(bounds) == 4
    for point in bounds:
        assert 0.1 * point.low < point.modelled < point.low


def test_weights_of_a_decode_step_are_all_read(points: list[Any]) -> None:
    """Independent of shapes: parameters x 2 bytes / 64 devices / 725 GB/s, which is no more than the model's time."""
    (llama,) = (each for each in points if "70B" in each.what)
    without_embedding = 70.6e9 - 128256 * 8192
    assert llama.modelled >= without_embedding * 2 / 64 / 725


@pytest.mark.parametrize("name", TABLES["TABLES"])
def test_the_document_has_the_tables(name: str) -> None:
    written = TABLES["blocks"](TABLES["DOCUMENT"].read_text(encoding="utf-8"))
    assert written[name] == TABLES["TABLES"][name](), "run python tests/hardware/tables.py --write"
