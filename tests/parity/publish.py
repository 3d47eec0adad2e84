"""Writes docs/op-coverage.md, and with a results folder first the summary of its run in tests/parity/full_run.

python tests/parity/publish.py [RESULTS]
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness.page import PAGE, page
from harness.results import Results
from harness.summary import Summary


def main() -> int:
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    if len(sys.argv) == 2:
        Summary.of(Results(Path(sys.argv[1]))).write()
    PAGE.write_text(page(Summary.read()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
