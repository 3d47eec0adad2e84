"""Runs the code cells of a notebook in this process, in order, as Jupyter would: for a machine without Jupyter."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import sys
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run(notebook: Path) -> list[dict[str, str]]:
    """What each cell prints on stdout and stderr, and the value of its last expression. What a cell raises ends it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [_run(position, "".join(cell["source"]), namespace) for position, cell in enumerate(code_cells(notebook))]


def _run(position: int, source: str, namespace: dict[str, Any]) -> dict[str, str]:
    file = f"cell_{position}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # warnings show the line
    tree = ast.parse(source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        exec(compile(tree, file, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), namespace)
    return {"stdout": out.getvalue(), "stderr": err.getvalue(), "value": "" if value is None else repr(value)}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
