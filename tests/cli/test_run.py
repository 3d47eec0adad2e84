"""``run``: the program sees what it would see under Python itself, and its end is Python's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunScript = Callable[..., Any]

WHAT_IT_SEES = """
import json, sys
main = sys.modules["__main__"].__file__
print(json.dumps([sys.argv, __name__, __file__, sys.path[0], __package__, str(__spec__), main]))
"""


def test_a_script_sees_its_own_arguments_name_and_path(run_script: RunScript, tmp_path: Path) -> None:
    (tmp_path / "tns_sibling.py").write_text("value = 3\n")
    done = run_script(f"{WHAT_IT_SEES}\nimport tns_sibling", "--report", "json", "-m", "x", "--", "--fallback=no")
    script = str(tmp_path / "script.py")
    arguments = ["--report", "json", "-m", "x", "--", "--fallback=no"]
    assert json.loads(done.out) == [[script, *arguments], "__main__", script, str(tmp_path), None, "None", script]
    assert done.code == 0


def test_a_relative_script_keeps_its_name_and_a_link_its_place(
    run_cli: RunScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "script.py").write_text(WHAT_IT_SEES)
    (tmp_path / "link.py").symlink_to(tmp_path / "there" / "script.py")
    monkeypatch.chdir(tmp_path)
    argv, _, file, path, *_ = json.loads(run_cli("run", "link.py").out)
    assert (argv, file, path) == (["link.py"], str(tmp_path / "link.py"), str(tmp_path / "there"))


def test_a_folder_runs_its_main_file(run_cli: RunScript, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(WHAT_IT_SEES)
    argv, name, file, path, *_ = json.loads(run_cli("run", str(tmp_path)).out)
    assert (argv, name, file, path) == (
        [str(tmp_path)],
        "__main__",
        str(tmp_path / "__main__.py"),
        str(tmp_path),
    )


@pytest.mark.parametrize(("module", "file"), [("tns_package", "__main__.py"), ("tns_package.part", "part.py")])
def test_a_module_runs_as_with_python_m(
    run_cli: RunScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, file: str
) -> None:
    package = tmp_path / "tns_package"
    package.mkdir()
    for name in ("__init__.py", "__main__.py", "part.py"):
        (package / name).write_text("" if name == "__init__.py" else WHAT_IT_SEES)
    monkeypatch.chdir(tmp_path)
    done = run_cli("run", "-m", module, "--output", "x")
    argv, name, path, first, parent, spec, _ = json.loads(done.out)
    script = str(package / file)
    assert (argv, name, path, first, parent) == (
        [script, "--output", "x"],
        "__main__",
        script,
        str(tmp_path),
        "tns_package",
    )
    assert f"name='tns_package.{Path(file).stem}'" in spec


def test_torch_neuronx_can_be_imported(run_script: RunScript) -> None:
    done = run_script("import torch_neuronx\nprint(torch_neuronx.device_count())")
    assert (done.code, done.out) == (0, "4\n"), done.err


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", 0),
        ("raise SystemExit", 0),
        ("import sys; sys.exit(7)", 7),
        ("exit(True)", 1),
        ("raise SystemExit(-1)", 255),
    ],
)
def test_exit_codes_are_the_programs(run_script: RunScript, code: str, expected: int) -> None:
    assert run_script(code).code == expected


def test_an_exit_with_a_text_prints_it(run_script: RunScript) -> None:
    done = run_script("import sys; sys.exit('no data')")
    assert done.code == 1
    assert done.err.startswith("no data\n")


def test_errors_keep_their_traceback_and_the_report_follows(run_script: RunScript, tmp_path: Path) -> None:
    done = run_script("import torch\ntorch.ones(2, device='neuron')\ndef f():\n    1 / 0\nf()\n")
    assert done.code == 1
    script = tmp_path / "script.py"
    traceback, _, report = done.err.partition("ZeroDivisionError: division by zero\n")
    assert traceback == (
        "Traceback (most recent call last):\n"
        f'  File "{script}", line 5, in <module>\n    f()\n'
        f'  File "{script}", line 4, in f\n    1 / 0\n    ~~^~~\n'
    )
    assert "aten::ones" in report


def test_a_syntax_error_is_shown_as_python_shows_it(run_script: RunScript, tmp_path: Path) -> None:
    done = run_script("x = = 1\n")
    assert done.code == 1
    assert done.err.startswith(f'  File "{tmp_path / "script.py"}", line 1\n    x = = 1\n')
    assert "SyntaxError: invalid syntax\n" in done.err


def test_the_programs_own_excepthook_is_called(run_script: RunScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    code = "import sys\nsys.excepthook = lambda kind, error, trace: print('hook', kind.__name__)\n1 / 0\n"
    done = run_script(code)
    assert (done.code, done.out) == (1, "hook ZeroDivisionError\n")


def test_threads_are_waited_for_and_reported(run_script: RunScript) -> None:
    code = """
import threading, torch
go = threading.Event()
def work():
    go.wait()
    torch.ones(3, device="neuron").argmax()
threading.Thread(target=work).start()
threading.Timer(0.1, go.set).start()
"""
    assert "aten::argmax.out" in run_script(code, options=("--fallback", "silent")).err


def test_what_ran_before_the_program_is_not_reported(run_script: RunScript) -> None:
    import torch

    torch.ones(3, device="neuron").cumsum(0)
    assert "cumsum" not in run_script("import torch; torch.ones(2, device='neuron')").err


def test_policies_hold_for_the_program_and_for_what_it_starts(run_script: RunScript) -> None:
    code = """
import os, torch_neuron_sim as sim
print(sim.fallback_policy(), sim.float64_policy(), sim.rng_mode())
print(*(os.environ["TORCH_NEURON_SIM_" + name] for name in ("FALLBACK", "FLOAT64", "RNG", "ALIAS")))
"""
    done = run_script(code, options=("--fallback", "error", "--float64", "exact", "--rng", "device"))
    assert done.out == "error exact device\nerror exact device 1\n"


def test_a_policy_stops_the_program_at_its_line(run_script: RunScript) -> None:
    done = run_script("import torch\ntorch.ones(3, device='neuron').argmax()\n", options=("--fallback", "error"))
    assert done.code == 1
    assert "line 2, in <module>" in done.err


def test_cuda_is_mapped_only_when_asked_for(run_script: RunScript) -> None:
    code = "import torch\nprint(torch.cuda.is_available(), torch.ones(2).to('cuda').device)\n"
    done = run_script(code, options=("--map-cuda",))
    assert (done.code, done.out) == (0, "True neuron:0\n")
    assert done.err.endswith('--map-cuda: "cuda" was taken for neuron in torch.cuda.is_available (1), Tensor.to (1)\n')
    assert "Torch not compiled with CUDA" in run_script(code).err
