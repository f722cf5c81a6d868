"""Short texts and HTML tables of results, for prompts and notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etprof.errors import printable

_MAX_REPR_ROWS = 4
_MAX_HTML_ROWS = 60
# Keys that hold the outcome of a command.
_OUTCOMES = ("result", "status", "passed", "ready", "ok")
# Endings of keys that are meant for programs: exact sums, whose mean in ms the row has as well, and how rows were matched.
_INTERNAL = ("_ns", "_denominator", "_evidence", "_score", "schema_version")


class Result(dict):
    """The JSON result of a command (--json), with a repr of one line and tables in notebooks."""

    def __repr__(self) -> str:
        parts = [f"{key} {_text(self[key])}" for key in _OUTCOMES if key in self]
        measured = next(filter(None, (_rows(self, key) for key in _ROWS)), [])
        parts += [summary(row) for row in measured[:_MAX_REPR_ROWS]]
        if len(measured) > _MAX_REPR_ROWS:
            parts.append(f"{len(measured) - _MAX_REPR_ROWS} more")
        if not measured:
            parts += [f"{key}: {len(self[key])}" for key in self if _is_table(self[key])]
        return f"<{'; '.join(parts) or ', '.join(self)}>"

    def _repr_html_(self) -> str:
        facts = {key: value for key, value in self.items() if not isinstance(value, dict | list)}
        keys = sorted(filter(lambda key: _is_table(self[key]), self), key=lambda key: key not in _ROWS)
        return html_table([facts]) + "".join(html_table(_rows(self, key), key) for key in keys)


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
    shown = [
        {key: value for key, value in row.items() if value is not None and not isinstance(value, dict | list)}
        for row in without_internals(rows[:_MAX_HTML_ROWS])
    ]
    columns = list(dict.fromkeys(key for row in shown for key in row))
    if not columns:
        return ""
    lines = [
        f"<table><caption>{html.escape(caption)}</caption>",
        "".join(f"<th>{html.escape(key)}</th>" for key in columns),
        *("".join(f"<td>{html.escape(_text(row.get(key, '')))}</td>" for key in columns) for row in shown),
    ]
    more = f"<p>{len(rows) - len(shown)} more rows</p>" if len(rows) > len(shown) else ""
    return "<tr>".join(lines) + "</table>" + more


def _latency_cells(compared: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "verdict": compared["verdict"],
        "speedup": compared["ratio"] and f"{compared['ratio']:.2f}x",
        f"{compared['confidence'] or 0.95:.0%} CI": _interval(compared["ratio_low"], compared["ratio_high"], ".2f"),
        "candidate ms": compared["candidate_ms"],
        "baseline ms": compared["baseline_ms"],
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
            "clean runs": f"{experiment['clean_runs']} of {experiment['all_runs']}",
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
}


def _rows(result: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries, rows_of = result.get(key, []), _ROWS.get(key, lambda entry: [entry])
    return [row for entry in entries for row in rows_of(entry)]


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _interval(low: Any, high: Any, form: str) -> str | None:
    return None if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:+.1f}%".replace("-", "\u2212")


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value), one_line=True)
