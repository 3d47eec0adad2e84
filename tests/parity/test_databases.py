"""What PyTorch's databases of operators, modules and optimizers list gives on the device what it gives on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

# A crash or a hang takes the place of the checks of its case.
ACCIDENTS = ("crash", "hang")
OPERATORS = (
    "forward",
    "inplace",
    "out",
    "layouts",
    "zero_size",
    "backward",
    "double_backward",
    "forward_mode",
    "errors",
)
MODULES = ("forward", "backward", "double_backward", "to", "pickle", "deepcopy", "round_trip", "errors")
OPTIMIZERS = ("steps", "state_dict", "fused", "errors")
CHECKS = [
    *(("operators", check) for check in OPERATORS),
    *(("foreach", check) for check in OPERATORS),
    *(("modules", check) for check in MODULES),
    *(("optimizers", check) for check in OPTIMIZERS),
]


def _assert_parity(results: Any, database: str, check: str) -> None:
    of_database = [each for each in results.findings() if each.entry.startswith(f"{database}.")]
    assert any(each.check == check and each.samples for each in of_database), "nothing was checked"
    wrong = [e for e in results.unexpected() if e.entry.startswith(f"{database}.") and e.check in (check, *ACCIDENTS)]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(("database", "check"), CHECKS)
def test_part_of_the_databases(part: Any, database: str, check: str) -> None:
    _assert_parity(part, database, check)


@pytest.mark.full
@pytest.mark.parametrize(("database", "check"), CHECKS)
def test_all_of_the_databases(full: Any, database: str, check: str) -> None:
    _assert_parity(full, database, check)


def test_every_entry_that_cpu_supports_is_in_the_part(part: Any) -> None:
    counts = {name: len({e.entry for e in part.findings() if e.entry.startswith(f"{name}.")}) for name in _DATABASES}
    assert counts == _DATABASES


# Of PyTorch 2.13: 702 OpInfos without the three that no dtype of the CPU supports, and 48 of foreach. Entries with the
# same name and variant count once.
_DATABASES = {"operators": 699, "foreach": 48, "modules": 114, "optimizers": 15}
