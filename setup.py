"""Builds torch_neuron_sim._C against the torch that is installed, and pins the wheel to its minor release.

A wheel built for one minor release of torch loads on the next without complaint and crashes later, because C++ classes
that the extension derives from change between them.
"""

import os
import runpy
from pathlib import Path

# torch would load an installed copy of this very package.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, include_paths

ROOT = Path(__file__).resolve().parent
EXTENSION = "torch_neuron_sim._C"


class BuildForThisTorch(BuildExtension):
    """Writes _build_info.py next to the extension, and rebuilds everything when it names another torch."""

    def run(self) -> None:
        info = Path(self.get_ext_fullpath(EXTENSION)).with_name("_build_info.py")
        if info.exists() and runpy.run_path(str(info)).get("TORCH_VERSION") != torch.__version__:
            self.force = True
        super().run()
        info.write_text(f'"""Written by setup.py."""\n\nTORCH_VERSION = "{torch.__version__}"\n')


def torch_requirement() -> str:
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    return f"torch>={major}.{minor},<{major}.{minor + 1}"


def files(pattern: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


def extension() -> CppExtension:
    made = CppExtension(
        EXTENSION,
        files("csrc/**/*.cpp"),
        depends=files("csrc/**/*.h"),
        # With a header for each operator, torch's own headers include only what they need.
        define_macros=[("AT_PER_OPERATOR_HEADERS", None)],
        extra_compile_args=["-std=c++20", "-O2", "-g0", "-Wall", "-Wextra", "-fvisibility=hidden"],
    )
    # As system headers, torch's own do not warn.
    made.include_dirs = [str(ROOT / "csrc")]
    made.extra_compile_args += [f"-isystem{path}" for path in include_paths()]
    return made


setup(
    ext_modules=[extension()],
    cmdclass={"build_ext": BuildForThisTorch},
    install_requires=[torch_requirement(), "numpy"],
)
