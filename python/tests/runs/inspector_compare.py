"""Durations of an ETDump's events by ExecuTorch's Inspector and by etprof's timeline CSV, made comparable.

Inspector groups runs that have the same events and the same index of a bundled input, and drops the number of the run in
the process. So both readers' runs are grouped by the sorted names of their events. The runs of a group keep their order
(with several bundled inputs: the order of their start). In a run, the name and the occurrence identify an event, because
XNNPACK gives operators of different delegates the same name.
"""

import csv
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

from executorch.devtools import Inspector
from executorch.devtools.inspector import TimeScale

LOAD_BLOCK = "Default"  # ExecuTorch's block of the load time, which is not part of a run

Run = dict[tuple[str, int], Decimal]  # (name, occurrence) to nanoseconds
Groups = dict[tuple[str, ...], list[Run]]  # sorted names to runs

_ROUNDING = Decimal("1e-3")  # nanoseconds; times below 2**53 ns are exact in Inspector's doubles


def inspector_runs(etdump: Path) -> Groups:
    """Returns the runs as ExecuTorch's own reader reads them, from a file whose times are nanoseconds."""
    inspector = Inspector(etdump_path=str(etdump), source_time_scale=TimeScale.NS, target_time_scale=TimeScale.NS)
    blocks = [block for block in inspector.event_blocks if block.name != LOAD_BLOCK]
    runs = []
    for block in blocks:
        events = [event for event in block.events if event.perf_data is not None]
        for number in range(len(events[0].perf_data.raw)):
            run = _run([(event.name, Decimal(event.perf_data.raw[number])) for event in events])
            runs.append((min(event.start_time[number] for event in events), max(run.values()), run))
    if len({block.bundled_input_index for block in blocks}) > 1:
        runs.sort(key=lambda run: run[:2])
    return _grouped([run for _, _, run in runs])


def timeline_runs(timeline: Path) -> Groups:
    """Returns the runs of a `*_exec_all_runs_timeline.csv`, which has one row per event, in the file's order."""
    rows_of_run = defaultdict(list)
    with timeline.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["block"] != LOAD_BLOCK:
                rows_of_run[int(row["run_index"])].append((row["name"], Decimal(row["duration_ms"]) * 1_000_000))
    assert sorted(rows_of_run) == list(range(len(rows_of_run))), "run_index does not count from 0"
    return _grouped([_run(rows_of_run[number]) for number in sorted(rows_of_run)])


def differences(inspector: Groups, timeline: Groups) -> list[str]:
    """Returns one message for each difference. All events have equal durations if there are none."""
    messages = (
        [f"events that only one side has: {sorted(_differing_names(inspector, timeline))}"]
        if inspector.keys() != timeline.keys()
        else []
    )
    for names in inspector.keys() & timeline.keys():
        expected_runs, actual_runs = inspector[names], timeline[names]
        if len(expected_runs) != len(actual_runs):
            messages.append(f"runs of {len(names)} events: Inspector {len(expected_runs)}, timeline {len(actual_runs)}")
        for number, (expected_run, actual_run) in enumerate(zip(expected_runs, actual_runs, strict=False)):
            messages += [
                f"run {number}, {event}: Inspector {duration} ns, timeline {actual_run[event]} ns"
                for event, duration in expected_run.items()
                if abs(duration - actual_run[event]) > _ROUNDING
            ]
    return messages


def _run(events: list[tuple[str, Decimal]]) -> Run:
    occurrences: Counter[str] = Counter()
    run = {}
    for name, duration in events:
        run[name, occurrences[name]] = duration
        occurrences[name] += 1
    return run


def _grouped(runs: list[Run]) -> Groups:
    groups: Groups = defaultdict(list)
    for run in runs:
        groups[tuple(sorted(name for name, _ in run))].append(run)
    return dict(groups)


def _differing_names(inspector: Groups, timeline: Groups) -> set[str]:
    """Returns the names whose counts differ, or all names if only the grouping into runs differs."""
    counts = [Counter(name for names in variant for name in names) for variant in (inspector, timeline)]
    return {name for name in counts[0] | counts[1] if counts[0][name] != counts[1][name]} or set(counts[0])
