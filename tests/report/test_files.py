"""Reads the files of `etprof analyze` and `compare` back with independent parsers."""

import csv
import json
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

ETDUMPS = ["toy_cnn.t1.etdump", "sme2_emulated/toy_q8.sme2_on.etdump", "sme2_emulated/toy_fp16.sme2_off.etdump"]

TIMELINE = program.KIT_TIMELINE
STATISTICS = ["model_id", "name", "type", "delegate_backend", "count", "total_ms", "avg_ms", "pct_total"]


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def read_json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse_constant)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.fixture(params=ETDUMPS)
def analyzed(request, tmp_path) -> tuple[Path, str]:
    etdump = program.DATA / request.param
    completed = program.run("analyze", etdump, "-o", tmp_path)
    assert completed.returncode == 0, completed.stderr
    return tmp_path, etdump.stem


def test_the_kits_columns_come_first(analyzed):
    folder, stem = analyzed
    for name, columns in [
        ("all_runs_timeline", TIMELINE),
        ("run0_timeline", TIMELINE),
        ("ops_stats", STATISTICS),
    ]:
        rows = read_csv(folder / f"{stem}_exec_{name}.csv")
        assert list(rows[0])[: len(columns)] == columns
        assert None not in rows[0] and None not in rows[-1]  # as many cells as columns


def test_self_times_of_every_run_add_up_to_method_execute(analyzed):
    folder, stem = analyzed
    runs: dict[str, list[dict[str, str]]] = {}
    for row in read_csv(folder / f"{stem}_exec_all_runs_timeline.csv"):
        runs.setdefault(row["run_index"], []).append(row)
    for rows in runs.values():
        (method,) = [row for row in rows if row["name"] == "Method::execute"]
        assert sum(Decimal(row["self_ms"]) for row in rows) == Decimal(method["duration_ms"])
        for row in rows:
            assert Decimal(row["end_us"]) - Decimal(row["start_us"]) == 1000 * Decimal(row["duration_ms"])


def test_run0_is_the_first_run_of_all_runs(analyzed):
    folder, stem = analyzed
    all_runs = read_csv(folder / f"{stem}_exec_all_runs_timeline.csv")
    assert read_csv(folder / f"{stem}_exec_run0_timeline.csv") == [row for row in all_runs if row["run_index"] == "0"]


def test_statistics_add_up_to_the_analysis(analyzed):
    folder, stem = analyzed
    summary = read_json(folder / "analysis_summary.json")
    (experiment,) = summary["experiments"]
    rows = read_csv(folder / f"{stem}_exec_ops_stats.csv")
    total = sum(Decimal(row["self_total_ms"]) for row in rows)
    assert total * 1_000_000 == experiment["groups"]["total_ns"]
    assert len({row["key"] for row in rows}) == len(rows), "an operator is one row"
    by_key = {row["key"]: row for row in rows}
    for operator in experiment["operators"]:
        assert Decimal(by_key[operator["key"]]["self_total_ms"]) * 1_000_000 == operator["total_ns"]


def test_every_table_of_the_analysis_adds_up_exactly(analyzed):
    folder, _ = analyzed
    summary = read_json(folder / "analysis_summary.json")
    for key in ("schema_version", "category_totals_ms", "per_etdump", "csv_files"):
        assert key in summary
    assert [name for name in summary["csv_files"] if not (folder / name).exists()] == []
    for experiment in summary["experiments"]:
        for table in ("groups", "categories", "places"):
            assert sum(row["total_ns"] for row in experiment[table]["rows"]) == experiment[table]["total_ns"]
        operators = sum(row["total_ns"] for row in experiment["operators"]) + experiment["operators_rest"]["total_ns"]
        assert operators == experiment["groups"]["total_ns"]
        median = experiment["latency_ms"]["p50"]
        assert experiment["mean_execute_ms"] + experiment["tracer_ms"] == pytest.approx(median, rel=1e-12)


def test_distributions_of_groups_and_categories_are_those_of_the_runs_sums(analyzed):
    folder, stem = analyzed
    (experiment,) = read_json(folder / "analysis_summary.json")["experiments"]
    sums: dict[tuple[str, str], dict[str, Decimal]] = {}
    for row in read_csv(folder / f"{stem}_exec_all_runs_timeline.csv"):
        if row["phase"] != "steady" and experiment["runs"]["steady"] > 0:
            continue
        for table in ("group", "category"):
            run_sums = sums.setdefault((table, row[table]), {})
            run_sums[row["run_index"]] = run_sums.get(row["run_index"], Decimal(0)) + Decimal(row["self_ms"])
    checked = 0
    for table, key in (("groups", "group"), ("categories", "category")):
        for row in experiment[table]["rows"]:
            if row["operators"] == 0:
                continue
            values = np.array([float(value) for value in sums[key, row["name"]].values()])
            assert row["self_ms"]["n"] == len(values)
            assert row["self_ms"]["mean"] == pytest.approx(values.mean(), rel=1e-9)
            assert row["self_ms"]["max"] == pytest.approx(values.max(), rel=1e-12)
            # The default definition of a quantile in Inspector and NumPy.
            assert row["self_ms"]["p90"] == pytest.approx(np.quantile(values, 0.9), rel=1e-9)
            checked += 1
    assert checked >= 8


@pytest.mark.parametrize("model", ["toy_cnn", "toy_fp16", "toy_q8"])
def test_a_comparison_adds_up_exactly_to_its_delta(model, tmp_path):
    variants = [program.DATA / "sme2_emulated" / f"{model}.sme2_{variant}.etdump" for variant in ("off", "on")]
    completed = program.run("compare", *variants, "--output-dir", tmp_path)
    assert completed.returncode == 0, completed.stderr
    (comparison,) = read_json(tmp_path / "comparison.json")["comparisons"]
    total = comparison["whole"]
    for table in ("groups", "categories", "operators"):
        for key in ("baseline_total_ns", "candidate_total_ns", "delta_numerator_ns"):
            assert sum(row[key] for row in comparison[table]) == total[key]
    delta = Fraction(total["delta_numerator_ns"], comparison["delta_denominator"])
    means = [
        Fraction(total[f"{variant}_total_ns"], comparison[f"{variant}_runs"]) for variant in ("baseline", "candidate")
    ]
    assert delta == means[1] - means[0]
    matched = [row for row in comparison["operators"] if row["name"] != "Clipped"]
    assert all(row["baseline_key"] and row["candidate_key"] for row in matched), "every operator is matched"


def test_json_on_stdout_is_what_the_file_holds(tmp_path):
    etdump = program.DATA / ETDUMPS[0]
    printed = json.loads(program.run("analyze", etdump, "--json").stdout)
    program.run("analyze", etdump, "-o", tmp_path)
    stored = read_json(tmp_path / "analysis_summary.json")
    assert printed["experiments"] == stored["experiments"]


def test_only_etdumps_near_the_folder_are_its_own(tmp_path):
    """Otherwise, analyzing a home folder would write tables next to every ETDump in it."""
    deep = tmp_path / "checkout" / "tests" / "data"
    deep.mkdir(parents=True)
    (deep / "a.etdump").write_bytes((program.DATA / ETDUMPS[0]).read_bytes())
    assert program.run("analyze", tmp_path).returncode == 3
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [deep / "a.etdump"]
    assert program.run("analyze", tmp_path / "checkout").returncode == 0
    assert (deep / "a_robust_stats.json").exists()


def test_a_bare_etdump_leaves_no_file_behind(tmp_path):
    etdump = tmp_path / "a.etdump"
    etdump.write_bytes((program.DATA / ETDUMPS[0]).read_bytes())
    assert program.run("analyze", etdump).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.etdump"]


def test_a_name_with_commas_quotes_and_markup_survives(tmp_path):
    etdump = tmp_path / 'a,"b" <c>|d.etdump'
    etdump.write_bytes((program.DATA / ETDUMPS[0]).read_bytes())
    out = tmp_path / "out"
    assert program.run("analyze", etdump, "-o", out).returncode == 0
    rows = read_csv(next(out.glob("*_exec_ops_stats.csv")))
    assert rows[0]["model_id"] == 'a,"b" <c>|d'
    assert "<c>" not in (out / "report.md").read_text(encoding="utf-8")


def test_a_full_disk_is_an_error():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    import os
    import subprocess

    with Path("/dev/full").open("w") as full:
        completed = subprocess.run(
            [program.etprof(), "analyze", program.DATA / ETDUMPS[0]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "80"},
        )
    assert completed.returncode == 4
    assert program.one_error(completed.stderr)
