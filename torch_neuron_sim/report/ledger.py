"""Reads the ledger of the launch path, and computes with its rows."""

from collections.abc import Iterable
from dataclasses import replace

from torch_neuron_sim import _C
from torch_neuron_sim.report.rows import CallSite, OpRow


def rows() -> list[OpRow]:
    """What ran since the ledger was cleared, in order of first use."""
    found = [
        OpRow(
            op=row["op"],
            recorded_as=row["recorded_as"],
            route=row["route"],
            reason=row["reason"],
            calls=row["calls"],
            bytes=row["bytes"],
            first_use=row["first_use"],
            sites=tuple(CallSite(*site) for site in row["sites"]),
            sites_dropped=row["sites_dropped"],
        )
        for row in _C.ledger_rows()
    ]
    return sorted(found, key=lambda row: row.first_use)


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def difference(later: Iterable[OpRow], earlier: Iterable[OpRow]) -> list[OpRow]:
    """What was counted between two readings without a clear in between."""
    before = {row.key: row for row in earlier}
    changed = [_combine(row, before[row.key], -1) if row.key in before else row for row in later]
    return [row for row in changed if row.calls]


def total(first: Iterable[OpRow], second: Iterable[OpRow]) -> list[OpRow]:
    """The sum of two periods, the first before the second."""
    combined = {row.key: row for row in first}
    for row in second:
        combined[row.key] = _combine(combined[row.key], row, 1) if row.key in combined else row
    return list(combined.values())


def _combine(row: OpRow, other: OpRow, sign: int) -> OpRow:
    calls = {(site.filename, site.line, site.function): site.calls for site in row.sites}
    for site in other.sites:
        place = (site.filename, site.line, site.function)
        calls[place] = calls.get(place, 0) + sign * site.calls
    return replace(
        row,
        calls=row.calls + sign * other.calls,
        bytes=row.bytes + sign * other.bytes,
        sites=tuple(CallSite(*place, count) for place, count in calls.items() if count),
        sites_dropped=row.sites_dropped + sign * other.sites_dropped,
    )
