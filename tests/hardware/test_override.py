"""A user's own constants: before the first device tensor, checked, and in force at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torch_neuron_sim import _C, hardware
from torch_neuron_sim.hardware import chips

RunPython = Callable[..., Any]

START = "import json, torch, torch_neuron_sim as t; from torch_neuron_sim import hardware, _C\n"
FOLDER = Path(chips.__file__).parent


def run(fresh_python: RunPython, code: str, **environment: str) -> Any:
    done = fresh_python(START + code, environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_numbers_are_in_the_constants_unit_and_texts_name_theirs(fresh_python: RunPython) -> None:
    found = run(
        fresh_python,
        """
returned = hardware.override(launch_latency=10, hbm_bandwidth="1 TB/s", tensor_clock="1200 MHz")
chip = hardware.chip()
assert returned is chip
print(json.dumps([_C.chip()[n] for n in ("launch_latency", "memory_bandwidth", "tensor_clock")]
                 + [chip.constants["launch_latency"].source, str(chip.constants["hbm_bandwidth"])]))
""",
    )
    assert found == [10_000, 125, 1.2, "override", "1 TB/s"]


def test_estimates_follow(fresh_python: RunPython) -> None:
    found = run(
        fresh_python,
        """
x = ((1024, 1024), "float32", ())
before = _C.estimate("copy", [x], [x])["memory_ns"]
hardware.override(hbm_bandwidth=1.45)
print(json.dumps(_C.estimate("copy", [x], [x])["memory_ns"] / before))
""",
    )
    assert found == pytest.approx(2)


def test_what_is_not_overridden_stays(fresh_python: RunPython) -> None:
    found = run(
        fresh_python,
        """
hardware.override(launch_latency=10)
hardware.override(host_issue=5)
print(json.dumps([_C.chip()["launch_latency"], _C.chip()["host_issue"], _C.clock_host_costs()]))
""",
    )
    assert found == [10_000, 5_000, [5_000, 437_000, False]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nonsense": 1}, "a chip has no constant 'nonsense'. Legal: cores, "),
        ({"launch_latency": "1 GB/s"}, "'launch_latency': unit 'GB/s' does not measure time. Legal: ns, us, ms, s"),
        ({"launch_latency": "soon"}, "'launch_latency': 'soon' is not a number and a unit"),
        ({"launch_latency": "1e999 us"}, "is not a number and a unit"),
        ({"launch_latency": -1}, "'launch_latency': -1 is not a finite number of at least 0"),
        ({"launch_latency": None}, "'launch_latency': None is not a finite number"),
        ({"hbm_stack_memory": 48}, "belongs to the instance: set TORCH_NEURON_SIM_HBM_GIB"),
        ({"cores": 4}, "belongs to the instance: choose another TORCH_NEURON_SIM_INSTANCE"),
    ],
)
def test_bad_values_are_refused_and_change_nothing(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(_C, "is_initialized", lambda: False)
    before = hardware.chip(), _C.chip()
    with pytest.raises(ValueError, match=message):
        hardware.override(**values)
    assert (hardware.chip(), _C.chip()) == before


@pytest.mark.parametrize("call", ["override(launch_latency=1)", "load_chip('anything')"])
def test_too_late_after_the_first_tensor(fresh_python: RunPython, call: str) -> None:
    done = fresh_python(START + f"torch.ones(1, device='neuron')\nhardware.{call}")
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert "the runtime has started; change the chip before the first device tensor" in done.stderr


def test_a_users_file(fresh_python: RunPython, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (FOLDER / "trainium2.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('name = "Trainium2"', 'name = "Mine"').replace("value = 2.4", "value = 4.8"))
    found = run(
        fresh_python, f"c = hardware.load_chip({str(path)!r})\nprint(json.dumps([c.name, _C.chip()['tensor_clock']]))"
    )
    assert found == ["Mine", 4.8]


def test_a_users_file_for_other_memory_needs_the_instance_to_have_it(fresh_python: RunPython, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (FOLDER / "trainium2.toml").read_text(encoding="utf-8")
    path.write_text(text.replace("value = 24\n", "value = 48\n"))
    code = f"hardware.load_chip({str(path)!r}); print(json.dumps(t.hardware.hardware().stack_bytes))"
    done = fresh_python(START + code)
    assert done.returncode == 1
    assert "hbm_stack_memory is 48 GiB, not as on the simulated instance: set TORCH_NEURON_SIM_HBM_GIB" in done.stderr
    assert run(fresh_python, code, TORCH_NEURON_SIM_HBM_GIB="48") == 48 * 2**30


def test_a_file_that_is_not_there(fresh_python: RunPython) -> None:
    done = fresh_python(START + "hardware.load_chip('/nowhere/mine.toml')")
    assert done.returncode == 1
    assert "FileNotFoundError" in done.stderr
