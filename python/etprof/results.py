"""Short texts, HTML tables, and plots of results, for prompts and notebooks."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etprof.errors import printable

_MAX_REPR_ROWS = 4
_MAX_HTML_ROWS = 60
_MAX_LABEL = 34  # characters of a label in a plot
# Keys that hold the outcome of a command.
_OUTCOMES = ("result", "status", "passed", "ready", "ok")
# Endings of keys that are meant for programs: exact sums, whose mean in ms the row has as well, and how rows were matched.
_INTERNAL = ("_ns", "_denominator", "_evidence", "_score", "schema_version")


class Object(dict):
    """A JSON object whose keys are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}, only {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *filter(str.isidentifier, self)})


class Result(Object):
    """The JSON result of a command (--json), with a repr of one line, and tables and a plot in notebooks."""

    def __repr__(self) -> str:
        parts = [f"{key} {_text(self[key])}" for key in _OUTCOMES if key in self]
        rows = next(filter(None, (_rows(self, key) for key in _ROWS)), [])
        parts += [summary(row) for row in rows[:_MAX_REPR_ROWS]]
        if len(rows) > _MAX_REPR_ROWS:
            parts.append(f"{len(rows) - _MAX_REPR_ROWS} more")
        if not rows:
            parts += [f"{key}: {len(self[key])}" for key in self if _is_table(self[key])]
        if "file_bytes" in self:
            parts.append(f"size {_scaled(self['file_bytes'], 'B')}")
        return f"<{'; '.join(parts) or ', '.join(self)}>"

    def _repr_html_(self) -> str:
        facts = {key: value for key, value in self.items() if not isinstance(value, dict | list)}
        keys = sorted(filter(lambda key: _is_table(self[key]), self), key=lambda key: key not in _ROWS)
        tables = "".join(html_table(_rows(self, key), key) for key in keys)
        return html_table([facts]) + plot(map(_median, self.get("experiments", [])), " ms") + tables


def parse(text: str) -> Result:
    """Return the result of a command from its JSON."""
    return Result(json.loads(text, object_hook=Object))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 run", "2 runs", "2 batches"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def without_internals(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without keys that are meant for programs, such as the numerator of an exact difference."""
    return [{key: value for key, value in row.items() if not key.endswith(_INTERNAL)} for row in rows]


def comparison_row(pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name, verdict, speedup with interval, and latencies (ms) of an entry of "comparisons"."""
    name = pair["label"] or f"{pair['candidate']} vs {pair['baseline']}"
    return {"comparison": name, **_latency_cells(pair["latency"])}


def summary(row: Mapping[str, Any]) -> str:
    """Return a row as one line without None values: `2 threads vs 1 thread: verdict faster, speedup 1.76x, ...`."""
    (_, name), *others = row.items()
    return f"{_text(name)}: " + ", ".join(f"{key} {_text(value)}" for key, value in others if value is not None)


def html_table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> str:
    """Return the numbers and texts of rows as an HTML table, truncated if long, or "" without any."""
    shown_rows = [
        {key: value for key, value in row.items() if value is not None and not isinstance(value, dict | list)}
        for row in without_internals(rows[:_MAX_HTML_ROWS])
    ]
    columns = list(dict.fromkeys(key for row in shown_rows for key in row))
    if not columns:
        return ""
    lines = [
        f"<table><caption>{html.escape(caption)}</caption>",
        "".join(f"<th>{html.escape(key)}</th>" for key in columns),
        *("".join(f"<td>{html.escape(_text(row.get(key, '')))}</td>" for key in columns) for row in shown_rows),
    ]
    note = f"<p>{len(rows) - len(shown_rows)} more rows</p>" if len(rows) > len(shown_rows) else ""
    return "<tr>".join(lines) + "</table>" + note


def plot(rows: Iterable[tuple[str, float | None, float | None, float | None]], unit: str, reference: float = 0) -> str:
    """Return an SVG with a line per row (label, value, ends of its interval), or "" without any value.

    The axis contains `reference`.
    """
    shown_rows = [row for row in rows if row[1] is not None][:_MAX_HTML_ROWS]
    numbers = [number for _, *row_numbers in shown_rows for number in row_numbers if number is not None]
    low, high = min([reference, *numbers]), max([reference, *numbers])
    if not shown_rows or low == high:
        return ""

    def x(value: float) -> float:
        return round(240 + 380 * (value - low) / (high - low), 1)

    bottom = 20 * len(shown_rows)
    lines = [f'<line x1="{x(reference)}" x2="{x(reference)}" y1="0" y2="{bottom}" stroke-dasharray="3"/>']
    for number, (label, value, *interval) in enumerate(shown_rows):
        y = 20 * number + 10
        text = f"{_text(value)}{unit}"
        if interval[0] is not None and interval[1] is not None:
            lines.append(
                f'<line x1="{x(interval[0])}" x2="{x(interval[1])}" y1="{y}" y2="{y}" stroke-width="5" opacity="0.4"/>'
            )
            text += f" {_interval(*interval, '.4g')}"
        name = _text(label)
        name = name if len(name) <= _MAX_LABEL else name[: _MAX_LABEL - 1] + "…"
        lines += [
            f'<circle cx="{x(value)}" cy="{y}" r="3" fill="currentColor"/>',
            f'<g stroke="none" fill="currentColor"><text x="230" y="{y + 4}" text-anchor="end">{html.escape(name)}</text>',
            f'<text x="640" y="{y + 4}">{html.escape(text)}</text></g>',
        ]
    axis_labels = "".join(
        f'<text x="{x(end)}" y="{bottom + 14}" text-anchor="middle" stroke="none" fill="currentColor">{end:.4g}</text>'
        for end in (low, high)
    )
    return (
        f'<svg width="860" height="{bottom + 20}" font-size="12" stroke="currentColor" role="img">'
        f"{''.join(lines)}{axis_labels}</svg>"
    )


def _latency_cells(latency: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "verdict": latency["verdict"],
        "speedup": latency["ratio"] and f"{latency['ratio']:.2f}x",
        f"{latency['confidence'] or 0.95:.0%} CI": _interval(latency["ratio_low"], latency["ratio_high"], ".2f"),
        "candidate ms": latency["candidate_ms"],
        "baseline ms": latency["baseline_ms"],
    }


def _cell_rows(cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a suite's cell: one per pair, or one with the cell's status if it has no pairs."""
    name = " ".join(filter(None, (cell["model"], cell["dtype"], cell["device"])))
    return [
        {"cell": f"{name}, {pair['candidate']} vs {pair['baseline']}", **_latency_cells(pair)} for pair in cell["pairs"]
    ] or [{"cell": name, "status": cell["status"], "latency ms": cell["latency_ms"], "reason": cell["reason"]}]


def _experiment_rows(experiment: Mapping[str, Any]) -> list[dict[str, Any]]:
    interval = experiment["latency_interval_ms"] or {}
    return [
        {
            "experiment": experiment["label"],
            "latency ms": experiment["latency_ms"]["p50"],
            "95% CI": _interval(interval.get("low"), interval.get("high"), ".4g"),
            # A bare ETDump has no untraced runs, of which some are clean.
            "clean runs": f"{experiment['clean_runs']} of {experiment['all_runs']}" if experiment["all_runs"] else None,
        }
    ]


def _median(experiment: Mapping[str, Any]) -> tuple[str, float | None, float | None, float | None]:
    interval = experiment["latency_interval_ms"] or {}
    return experiment["label"], experiment["latency_ms"]["p50"], interval.get("low"), interval.get("high")


def _method_rows(method: Mapping[str, Any]) -> list[dict[str, Any]]:
    delegates = Counter(delegate["backend"] for delegate in method["delegates"])
    return [
        {
            "method": method["name"],
            "MACs": _scaled(method["macs"]),
            "delegates": ", ".join(f"{count} {backend}" for backend, count in delegates.items()) or "none",
            "operators not delegated": sum(operator["calls"] for operator in method["operators"]),
        }
    ]


def _check_rows(pair: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "pair": pair["name"],
            "check": check["name"],
            "change": _percent(check["growth"]),
            "interval": _interval(_percent(check["growth_low"]), _percent(check["growth_high"]), ""),
            "limit": _percent(check["limit"]),
            "result": check["result"],
        }
        for check in pair.get("checks", [])
    ]


# Functions that convert an entry of a list to rows. An entry of any other list is a row itself.
_ROWS = {
    "comparisons": lambda pair: [comparison_row(pair)],
    "pairs": _check_rows,
    "cells": _cell_rows,
    "experiments": _experiment_rows,
    "methods": _method_rows,
}


def _rows(result: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries, make_rows = result.get(key, []), _ROWS.get(key, lambda entry: [entry])
    return [row for entry in entries for row in make_rows(entry)]


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _interval(low: Any, high: Any, form: str) -> str | None:
    return None if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:+.1f}%".replace("-", "\u2212")


def _scaled(number: float | None, unit: str = "") -> str | None:
    """Return a number with three digits, a prefix, and the unit: "1.12 MB" for 1118336 bytes."""
    if number is None:
        return None
    prefixes = ["", "k", "M", "G", "T"]
    while abs(number) >= 999.5 and len(prefixes) > 1:
        number /= 1000
        prefixes.pop(0)
    return f"{number:.3g} {prefixes[0]}{unit}".rstrip()


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value), one_line=True)
