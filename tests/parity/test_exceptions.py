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


def test_expected_failures_still_fail(exceptions: list[Any], part: Any) -> None:
    """In what the default part ran; a full run tells of all dtypes."""
    _assert_needed(exceptions, part)


@pytest.mark.full
def test_expected_failures_still_fail_in_full(exceptions: list[Any], full: Any) -> None:
    _assert_needed(exceptions, full)


def _assert_needed(exceptions: list[Any], results: Any) -> None:
    found = list(results.findings())
    names = {each.entry for each in found}
    for exception in exceptions:
        assert exception.entry in names, f"no entry {exception.entry} in the databases"
        if exception.kind == "xfail":
            for check in exception.checks:
                ran = [e for e in found if exception.covers(e.entry, e.dtype) and e.check == check]
                assert not ran or any(e.failed for e in ran), f"{exception.entry} passes {check}: drop the exception"
