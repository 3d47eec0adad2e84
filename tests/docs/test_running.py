"""docs/running.md: its programs print what it says, under ``run``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "running.md"
OURS = ("TORCH_NEURON_SIM_", "TORCH_NEURONX_", "NEURON_")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return subprocess.run(
        [sys.executable, "-m", "torch_neuron_sim", "run", *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+ (?:s|ms|us|ns)\b", "#", text)


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    train, _ = blocks("python")
    output, report, _ = blocks("text")
    (tmp_path / "train.py").write_text(train)
    done = run(tmp_path, "--fallback", "silent", "train.py", "40")
    assert done.returncode == 0, done.stderr
    assert without_times(done.stderr) == without_times(report)
    found, wanted = (float(text.split()[1]) for text in (done.stdout, output))
    assert found == pytest.approx(wanted, abs=0.05), "it may differ a little on another CPU"


def test_the_script_for_cuda_prints_what_the_page_says(tmp_path: Path) -> None:
    _, look = blocks("python")
    *_, mapped = blocks("text")
    (tmp_path / "look.py").write_text(look)
    done = run(tmp_path, "--map-cuda", "look.py")
    assert (done.returncode, done.stdout) == (0, "neuron:0\n"), done.stderr
    assert done.stderr.endswith(mapped)


def test_every_option_is_named_on_the_page() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "torch_neuron_sim", "run", "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = set(re.findall(r"--[a-z-]+", help_text)) - {"--help"}
    assert {option for option in options if f"`{option}" not in PAGE.read_text()} == set()
