"""The page in a browser: what it shows, that it can be read in light and dark, and that it asks for nothing."""

from __future__ import annotations

import http.server
import re
import shutil
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest

from torch_neuron_sim import OpReport

BROWSERS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser: none of {', '.join(BROWSERS)} is on PATH")

Browse = Callable[..., str]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Runs the browser with arguments on a URL; returns what it prints."""

    def run(*arguments: str, url: str) -> str:
        assert BROWSER is not None
        done = subprocess.run(
            [
                BROWSER,
                "--headless",
                "--no-sandbox",  # needs rights that root in a container has not
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                f"--user-data-dir={tmp_path / 'profile'}",
                *arguments,
                url,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def page(full: OpReport, tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    file.write_text(full.to_html(), encoding="utf-8")
    return file


def words(html: str) -> str:
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL).split("<body>")[1]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_it_shows_summary_table_plots_and_advice(full: OpReport, browse: Browse, page: Path) -> None:
    dom = browse("--dump-dom", url=page.as_uri())
    shown = words(dom)
    for line in full.heading()[1:]:
        label, _, rest = line.partition(": ")
        assert f"{label} {rest}" in shown
    assert "aten::argmax.out 4 3.0 MiB no native kernel /home/<b>user</b>/train & run.py:12 in <lambda>" in shown
    assert "Compile keys by shape" in shown
    assert "dimension 1 of input 0 took 4 values (5, 6, 7, 9)" in shown
    assert all(each.text in shown for each in full.advice)
    assert dom.count("<polyline") == 4
    assert "neuron:2: at most 4.0 MiB" in shown
    # The order in which the tree came out of the parser: markup that does not nest would have been moved.
    assert re.findall(r"<h[12]>(.*?)</h[12]>", dom) == [
        "Operators on neuron (trn2.3xlarge, coverage snapshot-2026-04)",
        "Over time",
        "Operators, what costs most first",
        "Compile keys by shape",
        "Advice",
    ]


def pixels(png: bytes) -> list[bytes]:
    """Rows of RGB or RGBA bytes, decoded from a PNG of 8 bits a channel, with its row filters undone."""
    width, height, _depth, kind = (
        int.from_bytes(png[at : at + size]) for at, size in ((16, 4), (20, 4), (24, 1), (25, 1))
    )
    data, at = b"", 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4])
        data += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    raw, step = zlib.decompress(data), {2: 3, 6: 4}[kind]
    rows, above = [], bytes(width * step)
    for y in range(height):
        begin = y * (width * step + 1)
        method, row = raw[begin], bytearray(raw[begin + 1 : begin + 1 + width * step])
        for x in range(len(row)):
            left = row[x - step] if x >= step else 0
            up, corner = above[x], above[x - step] if x >= step else 0
            nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            row[x] = (row[x] + (0, left, up, (left + up) // 2, nearest)[method]) % 256
        above = bytes(row)
        rows.append(above)
    return rows


@pytest.mark.parametrize(("scheme", "dark"), [("1", False), ("0", True)])
def test_it_is_light_or_dark_as_the_reader_prefers(
    browse: Browse, page: Path, tmp_path: Path, scheme: str, dark: bool
) -> None:
    picture = tmp_path / "page.png"
    browse(
        f"--screenshot={picture}",
        "--window-size=400,300",
        f"--blink-settings=preferredColorScheme={scheme}",
        url=page.as_uri(),
    )
    rows = pixels(picture.read_bytes())
    values = [value for row in rows for value in row[::4]]
    corner, extremes = rows[2][4], (min(values), max(values))
    assert corner < 40 if dark else corner > 215
    assert extremes[1] - extremes[0] > 150  # text on it


@pytest.fixture
def requests() -> Iterator[tuple[str, list[str], dict[str, bytes]]]:
    """A server's address, the paths that were asked for, and the files that it has."""
    asked: list[str] = []
    files: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(files.get(self.path, b""))

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked, files
        server.shutdown()
        thread.join()


def test_it_asks_for_nothing(full: OpReport, browse: Browse, requests: tuple[str, list[str], dict[str, bytes]]) -> None:
    address, asked, files = requests
    files["/report.html"] = full.to_html().encode()
    assert "completed" in browse("--dump-dom", url=f"{address}/report.html")
    assert [path for path in asked if path != "/favicon.ico"] == ["/report.html"]
