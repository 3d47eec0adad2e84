"""The programs on README.md and in docs/, and what the pages say that they print.

A ``python`` block with a ``text`` block after it is a program and what it prints; a second ``text`` block is part of
what it prints on stderr. Its file has the name that the page gives last before it: "Save this as `first.py`".

    python tests/docs/examples.py

runs them and puts what they print into the pages.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Those have tests of their own: the first runs programs by `neuron-sim run`, the second shows an error and a test file.
OTHERS = ("running.md", "testing.md")
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.name not in OTHERS]

FOLDER = "/home/you"
"""Where the pages say that the programs are."""


@dataclass(frozen=True)
class Example:
    page: Path
    file: str
    program: str
    output: str
    warning: str  # empty: the page shows none
    output_span: tuple[int, int]  # on the page


def find() -> list[Example]:
    return [example for page in PAGES for example in on(page)]


def on(page: Path) -> list[Example]:
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL))
    found = []
    for position, block in enumerate(blocks):
        output, warning = [*blocks[position + 1 :], None, None][:2]
        if block[1] != "python" or output is None or output[1] != "text":
            continue
        named = re.findall(r"`(\w+\.py)`", text[: block.start()])
        shown = warning[2] if warning is not None and warning[1] == "text" else ""
        found.append(Example(page, named[-1] if named else "example.py", block[2], output[2], shown, output.span(2)))
    return found


def program(example: Example, folder: Path) -> str:
    """Code that runs the example in ``folder``, where it also writes it."""
    file = folder / example.file
    file.write_text(example.program, encoding="utf-8")
    return (
        f"import os, runpy, torch_neuron_sim; os.chdir({str(folder)!r})\n"
        f"runpy.run_path({str(file)!r}, run_name='__main__')"
    )


def refresh(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for example in reversed(on(page)):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", program(example, Path(folder))], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise SystemExit(f"{page.name}, {example.file}:\n{done.stderr}")
            start, end = example.output_span
            text = text[:start] + done.stdout.replace(folder, FOLDER) + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in PAGES:
        refresh(each)
