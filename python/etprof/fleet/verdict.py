"""Decide which device classes became significantly faster or slower with a version.

The statistical unit is the device. A cell is one model and configuration on one device; its latency under a version is the
mean over launches of the logarithm of their medians. The effect of a device is the mean of log(baseline / candidate) over its
cells. The effect of a class is the mean of its devices' effects, with an interval from Student's t over devices. The false
discovery rate is controlled over the classes.
"""

from __future__ import annotations

import argparse
import bisect
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from etprof import _native
from etprof.arrow import Records
from etprof.fleet.problem import FleetError
from etprof.fleet.query import ask, read_sql
from etprof.fleet.store import Fleet

FALSE_DISCOVERY = 0.05
MIN_DEVICES_TO_PLAN = 3  # fewer devices give no usable estimate of their spread
_CONFIDENCE, _POWER = 0.95, 0.8  # of the test for which the number of devices is planned
_MAX_DEVICES = 1 << 40

_SELECTED = """
  NOT emulated
  AND version IN (getvariable('baseline'), getvariable('candidate'))
  AND (getvariable('model') IS NULL OR model = getvariable('model'))
  AND (getvariable('since') IS NULL OR day >= getvariable('since')::DATE)
  AND (getvariable('until') IS NULL OR day <= getvariable('until')::DATE)
"""
_VERSIONS = f"SELECT DISTINCT version FROM launches WHERE {_SELECTED}"  # noqa: S608
_EFFECTS = f"""
WITH cells AS (
  SELECT device_class, device, model, configuration,
    avg(ln(median_ns)) FILTER (median_ns > 0 AND version = getvariable('baseline')) AS baseline,
    avg(ln(median_ns)) FILTER (median_ns > 0 AND version = getvariable('candidate')) AS candidate
  FROM launches
  WHERE {_SELECTED}
  GROUP BY ALL
), devices AS (
  SELECT device_class, device, avg(baseline - candidate) AS effect
  FROM cells
  GROUP BY ALL
)
SELECT device_class,
  coalesce(list(effect ORDER BY device) FILTER (effect IS NOT NULL AND device IS NOT NULL), []) AS effects,
  count(*) FILTER (effect IS NULL OR device IS NULL) AS left_out
FROM devices
GROUP BY device_class
ORDER BY device_class
"""  # noqa: S608
# The shipped query `percentiles`, of the selected launches.
_PERCENTILES = (
    f"WITH launches AS (FROM main.launches WHERE {_SELECTED}) FROM (" + read_sql("percentiles").rstrip(";\n") + ")"
)


@dataclass(frozen=True)
class Question:
    """The versions to compare and the filters; None: no filter."""

    baseline: str
    candidate: str
    model: str | None = None
    since: str | None = None
    until: str | None = None
    margin: float = 0.01
    detect: float = 0.02

    @staticmethod
    def of(options: argparse.Namespace) -> Question:
        """Make a question from the command line's options."""
        return Question(**{key: getattr(options, key) for key in Question.__dataclass_fields__})


@dataclass(frozen=True)
class ClassVerdict:
    """The verdict of one device class. Ratios are baseline / candidate: above 1, the candidate is faster. None: unknown."""

    device_class: str
    verdict: str  # "same", "faster", "slower", "inconclusive"
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    confidence: float | None  # of the interval, adjusted to all classes
    devices: int  # devices with both versions
    left_out: int  # devices without clean runs of both
    devices_to_detect: int | None  # devices that a test needs to detect the given change with a power of 80%
    baseline_p50_ms: float | None = (
        None  # median of single runs of all devices; None for several models or configurations
    )
    candidate_p50_ms: float | None = None
    baseline_p99_ms: float | None = None
    candidate_p99_ms: float | None = None


_TYPES = {"devices": int, "left_out": int, "devices_to_detect": int} | {
    key: str if key in ("device_class", "verdict") else float
    for key in ClassVerdict.__dataclass_fields__
    if "devices" not in key and key != "left_out"
}


def judge(fleet: Fleet, question: Question) -> Records:
    """Return a ClassVerdict for each device class, with adjustment for all classes, as a table for any Arrow library.

    Raises:
        FleetError: the fleet has no launches of one of the versions
    """
    variables = {key: value for key, value in asdict(question).items() if key not in ("margin", "detect")}
    versions = {row[0] for row in ask(fleet, _VERSIONS, variables).rows}
    for version in (question.baseline, question.candidate):
        if version not in versions:
            raise FleetError(
                f"the fleet has no measured launches of version `{version}`, or none that was asked for",
                "see `etprof fleet query coverage`; ETDumps have no latencies",
            )
    answer = ask(fleet, _EFFECTS, variables)
    effects = [row[1] for row in answer.rows]
    judged = _native.judge_units(effects, FALSE_DISCOVERY, question.margin)
    rows = ask(fleet, _PERCENTILES, variables).rows
    is_one_cell = len({(model, configuration) for model, configuration, *_ in rows}) == 1  # others must not be mixed
    percentiles = {(row[2], row[3]): (row[4], row[6]) for row in rows if is_one_cell}
    verdicts = []
    for (device_class, units, left_out), judgment in zip(answer.rows, judged, strict=True):
        before = percentiles.get((device_class, question.baseline), (None, None))
        after = percentiles.get((device_class, question.candidate), (None, None))
        judgment = judgment or {"verdict": "inconclusive"}
        verdicts.append(
            ClassVerdict(
                device_class,
                judgment["verdict"],
                *(judgment.get(key) for key in ("ratio", "ratio_low", "ratio_high", "confidence")),
                len(units),
                left_out,
                devices_to_detect(units, question.detect),
                before[0],
                after[0],
                before[1],
                after[1],
            )
        )
    return Records(verdicts, _TYPES)


def devices_to_detect(effects: Sequence[float], change: float) -> int | None:
    """Return how many devices with this spread a two-sided 5% test needs to detect a change with a power of 80%.

    The least n with (t(97.5%, n - 1) + t(80%, n - 1)) sd / sqrt(n) <= log(1 + change): the usual approximation of the
    power of Student's t. None: too few devices to know their spread.
    """
    if len(effects) < MIN_DEVICES_TO_PLAN:
        return None
    deviation = statistics.stdev(effects)
    target = math.log1p(change) / deviation if deviation > 0 else math.inf

    def suffices(devices: int) -> bool:
        # critical_value is two-sided, so a confidence of 60% gives t(80%): 60% lie between -t(80%) and t(80%).
        sum_of_quantiles = sum(_native.critical_value(c, devices - 1) for c in (_CONFIDENCE, 2 * _POWER - 1))
        return sum_of_quantiles <= target * math.sqrt(devices)

    return bisect.bisect_left(range(_MAX_DEVICES), True, lo=2, key=suffices)


def slower(verdicts: Sequence[ClassVerdict]) -> bool:
    """Return whether any class is slower."""
    return any(verdict.verdict == "slower" for verdict in verdicts)


def table(verdicts: Sequence[ClassVerdict]) -> tuple[list[str], list[tuple]]:
    """Return the columns and the rows, the slowest class first. Columns without any value are omitted."""
    ranked = sorted(verdicts, key=lambda verdict: (verdict.ratio is None, verdict.ratio, verdict.device_class))
    rows = [asdict(verdict) for verdict in ranked]
    columns = [key for key in ClassVerdict.__dataclass_fields__ if any(row[key] is not None for row in rows)]
    return columns, [tuple(row[key] for key in columns) for row in rows]


def notes(verdicts: Sequence[ClassVerdict]) -> list[str]:
    """Return the notes that explain the table."""
    lines = ["ratio: baseline / candidate, above 1 the candidate is faster; devices are the unit"]
    if left_out := sum(verdict.left_out for verdict in verdicts):
        lines.append(f"excluded devices, without a name or without clean runs of both versions: {left_out}")
    if any(verdict.ratio is None for verdict in verdicts):
        lines.append("a class with fewer than two devices has no interval; was `--device` given when runs were added?")
    return lines
