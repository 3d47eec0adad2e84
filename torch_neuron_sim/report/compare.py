"""What changed between two reports."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torch_neuron_sim.report.data import check
from torch_neuron_sim.report.formats import format_bytes, format_seconds
from torch_neuron_sim.report.rows import MOVING


@dataclass(frozen=True)
class Change:
    """One figure in both reports; None: that report does not know it."""

    what: str
    earlier: float | None
    later: float | None
    unit: str  # bytes, seconds or count


@dataclass(frozen=True)
class Comparison:
    """What changed from an earlier report to a later one."""

    context: dict[str, tuple[str, str]]  # what the two ran with, where it differs: earlier and later
    outcome: tuple[str, str]  # how the earlier and the later program ended
    device: tuple[str, str]  # the verdict on the real device, earlier and later
    new_fallbacks: list[str]  # names as in get_fallback_ops(), in order of first use
    gone_fallbacks: list[str]
    new_unsupported: list[str]
    gone_unsupported: list[str]
    new_keys: dict[str, int]  # compile keys that the earlier report does not have, by operator
    gone_keys: dict[str, int]
    figures: list[Change]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; pairs are lists of earlier and later."""
        found = asdict(self)
        found["context"] = {name: list(pair) for name, pair in self.context.items()}
        return {**found, "outcome": list(self.outcome), "device": list(self.device)}

    def to_text(self) -> str:
        """One line for each subject."""
        lines = ["Since the earlier report"]
        lines += (f"{name}: {earlier} before, {later} now" for name, (earlier, later) in self.context.items())
        for label, (earlier, later) in (("here", self.outcome), ("on the real device", self.device)):
            lines.append(
                f"{label}: {later}, as before" if earlier == later else f"{label}: {earlier} before, {later} now"
            )
        for label, names in (
            ("newly falls back", self.new_fallbacks),
            ("no longer falls back", self.gone_fallbacks),
            ("newly unsupported", self.new_unsupported),
            ("no longer unsupported", self.gone_unsupported),
        ):
            lines.append(f"{label}: {', '.join(names) or 'none'}")
        for label, counts in (("new compile keys", self.new_keys), ("gone compile keys", self.gone_keys)):
            shown = ", ".join(f"{op} {count}" for op, count in counts.items())
            lines.append(f"{label}: {f'{sum(counts.values())} ({shown})' if counts else 'none'}")
        lines += (_figure(change) for change in self.figures)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def compare(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> Comparison:
    """Two reports as to_dict() gives them. ValueError if one is something else."""
    old, new = check(earlier, "the earlier report"), check(later, "the later report")
    old_keys, new_keys = _keys(old), _keys(new)
    return Comparison(
        context={
            name: (str(old[name]), str(new[name]))
            for name in ("torch_neuron_sim", "torch", "instance", "coverage")
            if old[name] != new[name]
        },
        outcome=(old["verdict"]["here"], new["verdict"]["here"]),
        device=(old["verdict"]["device"], new["verdict"]["device"]),
        new_fallbacks=_without(_names(new, "fallback"), _names(old, "fallback")),
        gone_fallbacks=_without(_names(old, "fallback"), _names(new, "fallback")),
        new_unsupported=_without(_names(new, "unsupported"), _names(old, "unsupported")),
        gone_unsupported=_without(_names(old, "unsupported"), _names(new, "unsupported")),
        new_keys=_by_op(new_keys.keys() - old_keys),
        gone_keys=_by_op(old_keys.keys() - new_keys),
        figures=_figures(old, new),
    )


def _names(report: Mapping[str, Any], route: str) -> list[str]:
    return list(dict.fromkeys(row["recorded_as"] for row in report["rows"] if row["route"] == route))


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    excluded = set(others)
    return [name for name in names if name not in excluded]


def _keys(report: Mapping[str, Any]) -> dict[tuple[str, ...], int]:
    keys = (report["compilations"] or {}).get("keys", ())
    inputs = (" ".join(f"{tensor['dtype']}{list(tensor['shape'])}" for tensor in key["inputs"]) for key in keys)
    return {(key["op"], shapes, key["static"]): key["calls"] for key, shapes in zip(keys, inputs, strict=True)}


def _by_op(keys: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """Counts, the largest first."""
    return dict(sorted(Counter(op for op, *_ in keys).items(), key=lambda item: (-item[1], item[0])))


def _figures(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    def change(what: str, read: Callable[[Mapping[str, Any]], float | None], unit: str) -> Change:
        return Change(what, read(old), read(new), unit)

    def part(name: str, key: str) -> Callable[[Mapping[str, Any]], float | None]:
        return lambda report: None if report[name] is None else report[name][key]

    def peak(device: int) -> Callable[[Mapping[str, Any]], int]:
        return lambda report: sum(each["peak_bytes"] for each in report["memory"] if each["device"] == device)

    devices = sorted({each["device"] for report in (old, new) for each in report["memory"]})
    return [
        change("bytes moved", lambda report: sum(report["totals"][route]["bytes"] for route in MOVING), "bytes"),
        change(
            "calls off the device", lambda report: sum(report["totals"][route]["calls"] for route in MOVING), "count"
        ),
        change("calls on the device", lambda report: report["totals"]["native"]["calls"], "count"),
        change("calls that demote float64", lambda report: report["totals"]["float64"]["calls"], "count"),
        change("int64 values beyond 32 bits", lambda report: report["int64_overflows"], "count"),
        change("compile keys", part("compilations", "distinct"), "count"),
        *(change(f"peak memory of neuron:{device}", peak(device), "bytes") for device in devices),
        change("wall time here", part("time", "wall_s"), "seconds"),
        change("first run here", part("time", "first_run_s"), "seconds"),
        change("steady state here", part("time", "steady_s"), "seconds"),
    ]


def _figure(change: Change) -> str:
    earlier, later = (_format(value, change.unit) for value in (change.earlier, change.later))
    if change.earlier == change.later:
        return f"{change.what}: {later}, as before"
    ratio = ""
    if change.earlier and change.later is not None:
        ratio = f" ({100 * (change.later - change.earlier) / change.earlier:+.1f} %)"
    return f"{change.what}: {earlier} before, {later} now{ratio}"


def _format(value: float | None, unit: str) -> str:
    if value is None:
        return "not known"
    if unit == "bytes":
        return format_bytes(int(value))
    return format_seconds(value) if unit == "seconds" else str(value)
