"""The exceptions to parity: few, each of one entry, and each still needed."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def exceptions(harness: Any) -> list[Any]:
    return list(harness.results.Exceptions.load().entries)


def test_fewer_than_twenty_without_patterns(exceptions: list[Any], harness: Any) -> None:
    assert len(exceptions) < 20
    for each in exceptions:
        assert each.kind in ("metadata", "xfail")
        assert each.reason
        assert each.checks or each.kind == "metadata", each
    assert len({(e.entry, e.kind, e.dtypes, e.checks) for e in exceptions}) == len(exceptions)


def test_entries_exist(exceptions: list[Any], harness: Any) -> None:
    names = {each.key for each in harness.cases.entries()}
    assert {each.entry for each in exceptions} <= names


def test_expected_failures_still_fail(exceptions: list[Any], exceptional: Any) -> None:
    found = list(exceptional.findings())
    for exception in exceptions:
        if exception.kind == "xfail":
            for check in exception.checks:
                ran = [e for e in found if exception.covers(e.entry, e.dtype) and e.check == check]
                assert ran, f"{exception.entry} has no {check}"
                passed = [e.dtype for e in ran if not e.failed]
                assert not passed, f"{exception.entry} passes {check} with {passed}: drop the exception"
