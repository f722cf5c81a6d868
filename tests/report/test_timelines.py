"""Timeline CSVs as inputs: etprof's own give the same results as their ETDump, and the kit's are supported, too."""

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

ETDUMPS = sorted(program.DATA.rglob("*.etdump"))
KIT = program.KIT_TIMELINE
# Keys of an experiment's JSON that do not come from the timeline file.
ELSEWHERE = {"etdump", "load_ms", "conditions"}


def analysis(*arguments: str | Path) -> dict:
    completed = program.run("analyze", *arguments, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def experiment(path: Path) -> dict:
    (summary,) = analysis(path)["experiments"]
    return {key: value for key, value in summary.items() if key not in ELSEWHERE}


def write_timeline(etdump: Path, folder: Path) -> Path:
    assert program.run("analyze", etdump, "-o", folder, "--quiet").returncode == 0
    return folder / f"{etdump.stem}_exec_all_runs_timeline.csv"


@pytest.mark.parametrize("etdump", ETDUMPS, ids=lambda path: path.stem)
def test_a_timeline_gives_what_its_etdump_gives(etdump, tmp_path):
    timeline = write_timeline(etdump, tmp_path)
    assert experiment(timeline) == experiment(etdump)
    assert analysis(timeline)["insights"] == [
        insight for insight in analysis(etdump)["insights"] if insight["kind"] != "first_run"
    ] + [insight for insight in analysis(timeline)["insights"] if insight["kind"] == "first_run"]


def test_two_timelines_compare_as_their_etdumps(tmp_path):
    variants = [program.DATA / "sme2_emulated" / f"toy_q8.sme2_{variant}.etdump" for variant in ("off", "on")]
    timelines = [write_timeline(variant, tmp_path) for variant in variants]
    results = []
    for pair in (variants, timelines):
        completed = program.run("compare", *pair, "--json")
        assert completed.returncode == 0, completed.stderr
        (comparison,) = json.loads(completed.stdout)["comparisons"]
        del comparison["load"]  # runs have no event for loading
        results.append(comparison)
    assert results[0] == results[1]


def test_a_timeline_is_not_written_over(tmp_path):
    timeline = write_timeline(program.DATA / "toy_cnn.t1.etdump", tmp_path)
    with timeline.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with timeline.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, KIT, extrasaction="ignore", lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)
    before = timeline.read_bytes()
    assert program.run("analyze", timeline, "-o", tmp_path, "--quiet").returncode == 0
    assert timeline.read_bytes() == before
    first_run = tmp_path / "toy_cnn.t1_exec_run0_timeline.csv"
    assert first_run.exists()
    tables = {file: file.read_bytes() for file in tmp_path.glob("*.csv")}
    assert program.run("analyze", first_run, "-o", tmp_path, "--quiet").returncode == 0
    assert {file: file.read_bytes() for file in tables} == tables


def test_a_folder_of_timelines_is_a_run(tmp_path):
    for variant in ("off", "on"):
        etdump = program.DATA / "sme2_emulated" / f"toy_cnn.sme2_{variant}.etdump"
        out = tmp_path / "out" / variant
        shutil.copy(write_timeline(etdump, out), tmp_path / f"toy_cnn_sme2_{variant}_t1_exec_all_runs_timeline.csv")
    shutil.rmtree(tmp_path / "out")
    completed = program.run("analyze", tmp_path, "--json")
    assert completed.returncode == 0, completed.stderr
    summary = json.loads(completed.stdout)
    assert [e["name"] for e in summary["experiments"]] == ["sme2_off", "sme2_on"]
    assert len(summary["comparisons"]) == 1


def kit_rows(etdump: Path) -> list[dict]:
    """Returns rows as in the kit's etdump_to_csv: one per event and run, from the data frames of ExecuTorch's Inspector."""
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    inspector = Inspector(etdump_path=str(etdump), target_time_scale=TimeScale.US)
    rows = []
    for block in inspector.event_blocks:
        if block.name != "Execute":
            continue
        origin = min(min(event.start_time) for event in block.events)
        totals = next(event.perf_data.raw for event in block.events if event.name == "Method::execute")
        for index, event in enumerate(block.events):
            for run, (start, duration) in enumerate(zip(event.start_time, event.perf_data.raw, strict=True)):
                # start_time remains in ticks of the clock, nanoseconds
                start_us = (start - origin) / 1e3
                rows.append(
                    {
                        "model_id": etdump.stem,
                        "name": event.name,
                        "type": event.op_types[0] if event.op_types else "",
                        "delegate_backend": event.delegate_backend_name or "",
                        "start_us": start_us,
                        "end_us": start_us + duration,
                        "duration_ms": duration / 1e3,
                        "pct_total": 100 * duration / totals[run],
                        "node_id": index,
                        "run_index": run,
                        "block": block.name,
                    }
                )
    return rows


@pytest.mark.parametrize("order", ["by event", "by run", "by start"])
@pytest.mark.parametrize("etdump", ETDUMPS, ids=lambda path: path.stem)
def test_the_kits_timelines_are_read(etdump, order, tmp_path):
    import pandas

    frame = pandas.DataFrame(kit_rows(etdump), columns=KIT)
    if order == "by run":
        frame = frame.sort_values("run_index", kind="stable")
    elif order == "by start":
        frame = frame.sort_values("start_us", kind="stable")
    path = tmp_path / f"{etdump.stem}_exec_all_runs_timeline.csv"
    frame.to_csv(path, index=False)
    expected, actual = experiment(etdump), experiment(path)
    for table in ("groups", "categories", "places"):
        assert actual[table] == expected[table]
    assert actual["latency_ms"] == expected["latency_ms"]

    def costs(result: dict) -> list:
        return sorted((row["name"], row["total_ns"], row["runs"]) for row in result["operators"])

    assert costs(actual) == costs(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "` is not a timeline"),
        ("name,start_us,end_us\nMethod::execute,0,1\nAdd,0\n", "` has 2 fields, the header has 3 (line 3)"),
        ("name,start_us,end_us\nMethod::execute,0,1\nAdd,0,0.", "line 3: the last line has no end"),
        ('name,start_us,end_us\n"Method::execute,0,1\n', "`, line 2: a quoted field"),
        ("name,start_us,end_us\nMethod::execute,zero,1\n", '`, line 2: start_us is "zero"'),
    ],
)
def test_an_odd_csv_is_one_clear_message(text, message, tmp_path):
    path = tmp_path / "odd_timeline.csv"
    path.write_text(text, encoding="utf-8")
    completed = program.run("analyze", path)
    assert completed.returncode == 3
    assert completed.stdout == ""
    assert program.one_error(completed.stderr)
    assert message in completed.stderr


def test_a_timeline_has_its_own_time_scale(tmp_path):
    timeline = write_timeline(program.DATA / "toy_cnn.t1.etdump", tmp_path)
    completed = program.run("analyze", timeline, "--time-scale", "us")
    assert completed.returncode == 2
    assert "has microseconds, and `--time-scale` is for ETDumps" in completed.stderr
