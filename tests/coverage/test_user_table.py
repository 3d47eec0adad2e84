"""Tables of the user's: every mistake is an error that names file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torch_neuron_sim import coverage

HEADER = "op\troute\trecorded_as\trefuses\tsource"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*lines: str) -> Path:
        path = tmp_path / "table.tsv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def test_good_table(write: Write) -> None:
    path = write(
        "# a comment",
        "",
        HEADER,
        "aten::relu\tfallback\t\t\tmeasured",
        "# another",
        "aten::mm\tnative\taten::mm.out\tint32, half\t",
        "aten::floor\tunsupported\t\t\t",
    )
    for name in (path, str(path)):
        table = coverage.load(name)
        assert table.name == str(path)
        assert (table.default_route, table.unknown) == ("fallback", ())
        assert list(table.rows) == ["aten::relu", "aten::mm", "aten::floor"]
    assert table.rows["aten::relu"] == coverage.Row("aten::relu", "fallback", "aten::relu", (), "measured")
    assert table.rows["aten::mm"] == coverage.Row("aten::mm", "native", "aten::mm.out", ("int32", "float16"), "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("aten::no_such_op\tnative\t\t\t", ["'aten::no_such_op'", "full name"]),
        ("aten::add\tnative\t\t\t", ["'aten::add'", "aten::add.Tensor"]),
        ("aten::relu\tquick\t\t\t", ["'quick'", "'aten::relu'", "native, fallback, unsupported"]),
        ("aten::relu\tNative\t\t\t", ["'Native'"]),
        ("aten::relu\tnative\t\tfloat33\t", ["'float33'"]),
        ("aten::relu\tnative\t\tint32,,int8\t", ["''"]),
        ("aten::relu\tnative\t\tTensor\t", ["'Tensor'"]),
        ("aten::relu\tnative", ["2 columns", "op, route, recorded_as, refuses, source"]),
        ("aten::relu native", ["1 columns"]),
        ("aten::relu\tnative\t\t\t\t", ["6 columns"]),
        ("aten::exp\tnative\t\t\t", ["second row", "'aten::exp'"]),
    ],
)
def test_bad_line_names_file_and_line(write: Write, line: str, words: list[str]) -> None:
    path = write("# comment", HEADER, "aten::exp\tnative\t\t\t", "", line)
    with pytest.raises(ValueError) as caught:
        coverage.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:5: ")
    assert len(text.splitlines()) == 1
    for word in words:
        assert word in text


def test_header_is_required(write: Write) -> None:
    path = write("# comment", "aten::relu\tnative\t\t\t")
    with pytest.raises(ValueError, match=r"table\.tsv:2: .*columns: op, route"):
        coverage.load(path)
    with pytest.raises(ValueError, match=r"table\.tsv:1: no line names the columns"):
        coverage.load(write("# only a comment"))


@pytest.mark.parametrize("name", ["snapshot-1999-01", "/no/such/file.tsv", "."])
def test_unknown_name_lists_the_legal_ones(name: str) -> None:
    with pytest.raises(ValueError) as caught:
        coverage.load(name)
    assert f"'{name}'" in str(caught.value)
    assert "all, snapshot-2026-04" in str(caught.value)


def test_shipped_table_skips_and_lists_what_another_torch_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    known = [name for name in torch._C._dispatch_get_all_op_names() if name not in ("aten::mm", "aten::argmax")]
    monkeypatch.setattr(torch._C, "_dispatch_get_all_op_names", lambda: known)
    table = coverage.load("snapshot-2026-04")
    assert table.unknown == ("aten::argmax", "aten::mm")
    assert "aten::mm" not in table.rows
    assert "aten::exp" in table.rows


def test_shipped_table_can_be_copied_and_loaded_by_path(tmp_path: Path) -> None:
    shipped = Path(coverage.__file__).parent / "snapshot-2026-04.tsv"
    copy = tmp_path / "mine.tsv"
    copy.write_bytes(shipped.read_bytes())
    assert coverage.load(copy).rows == coverage.load("snapshot-2026-04").rows
