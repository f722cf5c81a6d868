"""The kit's summary files, read back with independent parsers and compared with analysis_summary.json."""

import csv
import json
import shutil
import sys
from decimal import Decimal
from pathlib import Path

import numpy
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

MODELS = ["toy_cnn", "toy_fp16", "toy_q8"]
KIT_OPERATOR = ["operator", "category", "total_ms", "avg_ms", "pct_of_e2e", "event_count"]


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def read_json(path: Path) -> dict:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture(params=MODELS)
def run_directory(request, tmp_path) -> Path:
    """A results directory in the kit's layout: one folder per experiment."""
    for variant in ("off", "on"):
        folder = tmp_path / f"sme2_{variant}"
        folder.mkdir()
        etdump = program.DATA / "sme2_emulated" / f"{request.param}.sme2_{variant}.etdump"
        shutil.copy(etdump, folder / f"{request.param}_sme2_{variant}_t1.etdump")
    completed = program.run("analyze", tmp_path, "--quiet")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == ""
    return tmp_path


def experiments(folder: Path):
    for experiment in read_json(folder / "analysis_summary.json")["experiments"]:
        yield experiment, next(folder.glob(f"*/{Path(experiment['etdump']).stem}.etdump")).with_suffix("")


def test_category_summaries_are_the_tables_of_the_analysis(run_directory):
    for experiment, stem in experiments(run_directory):
        rows = read_csv(Path(f"{stem}_category_summary.csv"))
        assert list(rows[0])[:5] == ["category", "total_ms", "avg_ms", "pct_of_e2e", "operator_count"]
        assert sum(float(row["pct_of_e2e"]) for row in rows) == pytest.approx(100, abs=1e-9)
        totals = {row["category"]: int(Decimal(row["total_ms"]) * 1_000_000) for row in rows}
        categories = experiment["categories"]
        assert totals == {row["name"]: row["total_ns"] for row in categories["rows"] if row["name"] in totals}
        assert sum(totals.values()) == categories["total_ns"]
        averages = [float(row["avg_ms"]) for row in rows if row["category"] != "Clipped"]
        assert averages == sorted(averages, reverse=True)
        assert sum(averages) == pytest.approx(experiment["mean_execute_ms"], rel=1e-9)


def test_operators_are_distinguished_by_identity(run_directory):
    for experiment, stem in experiments(run_directory):
        rows = read_csv(Path(f"{stem}_operator_details.csv"))
        assert list(rows[0])[: len(KIT_OPERATOR)] == KIT_OPERATOR
        assert len({row["key"] for row in rows}) == len(rows)
        assert sum(float(row["pct_of_e2e"]) for row in rows) == pytest.approx(100, abs=1e-9)
        assert sum(Decimal(row["total_ms"]) for row in rows) * 1_000_000 == experiment["groups"]["total_ns"]
        by_key = {row["key"]: row for row in rows}
        for operator in experiment["operators"]:
            row = by_key[operator["key"]]
            assert row["operator"] == operator["name"]
            assert row["category"] == operator["category"]
            assert int(row["event_count"]) == operator["runs"]
            assert float(row["avg_ms"]) == pytest.approx(operator["mean_ms"], rel=1e-12)
        others = read_csv(Path(f"{stem}_other_top_ops.csv"))
        assert others == [row for row in rows if row["category"] == "OTHER"]


def test_latency_is_method_execute_once(run_directory):
    for experiment, stem in experiments(run_directory):
        (row,) = read_csv(Path(f"{stem}_e2e_latency.csv"))
        assert list(row)[:6] == ["model_name", "num_runs", "total_ms", "avg_ms", "min_ms", "max_ms"]
        assert int(row["num_runs"]) == experiment["runs"]["common_set"]
        assert Decimal(row["total_ms"]) * 1_000_000 == experiment["groups"]["total_ns"]
        assert float(row["latency_median_ms"]) == pytest.approx(experiment["latency_ms"]["p50"], rel=1e-12)


def check_robust(robust: dict) -> None:
    values = numpy.array(robust["latencies_ms"])
    assert len(values) == robust["count"] == len(robust["run_indices"])
    expected = {
        "mean_ms": values.mean(),
        "median_ms": numpy.median(values),
        "std_dev_ms": values.std(ddof=1),
        "cv_percent": values.std(ddof=1) / values.mean() * 100,
        "min_ms": values.min(),
        "max_ms": values.max(),
        "trimmed_mean_5_ms": stats.trim_mean(values, 0.05),
        "trimmed_mean_10_ms": stats.trim_mean(values, 0.10),
        "mad_ms": stats.median_abs_deviation(values),
    }
    for key, value in expected.items():
        assert robust[key] == pytest.approx(value, rel=1e-9), key
    for name, value in robust["percentiles"].items():
        assert value == pytest.approx(numpy.percentile(values, int(name[1:])), rel=1e-9)
    bounds = robust["outliers"]["bounds"]
    inside = values
    if len(values) < 4:
        assert bounds == {"lower": None, "upper": None}, "so few have no fences"
    else:
        first, third = numpy.percentile(values, [25, 75])
        low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
        assert bounds["lower"] == pytest.approx(low, rel=1e-9)
        assert bounds["upper"] == pytest.approx(high, rel=1e-9)
        inside = values[(values >= low) & (values <= high)]
    outliers = robust["outliers"]
    assert outliers["count"] == len(values) - len(inside) == len(outliers["values"])
    assert outliers["percentage"] == pytest.approx(100 * outliers["count"] / len(values))
    assert robust["robust_stats"]["count"] == len(inside)
    assert robust["robust_stats"]["median_ms"] == pytest.approx(numpy.median(inside), rel=1e-9)
    assert robust["robust_stats"]["mean_ms"] == pytest.approx(inside.mean(), rel=1e-9)
    assert robust["robust_stats"]["std_dev_ms"] == pytest.approx(inside.std(ddof=1), rel=1e-9)


def test_robust_statistics_are_those_of_scipy(run_directory):
    for experiment, stem in experiments(run_directory):
        robust = read_json(Path(f"{stem}_robust_stats.json"))
        assert robust["count"] == experiment["latency_ms"]["n"]
        check_robust(robust)


def test_outliers_are_those_outside_tukeys_fences(tmp_path):
    shutil.copy(program.DATA / "toy_cnn.t1.etdump", tmp_path / "toy_cnn_t1.etdump")
    times = [3.0, *(2 + 0.001 * (i * 7 % 11) for i in range(60))]
    times[30] = 9.0
    lines = [f"Iteration {i + 1} of {len(times)}: {ms:.6f} ms\n" for i, ms in enumerate(times)]
    (tmp_path / "toy_cnn_t1_latency.log").write_text("".join(lines), encoding="utf-8")
    assert program.run("analyze", tmp_path, "--quiet").returncode == 0
    robust = read_json(tmp_path / "toy_cnn_t1_robust_stats.json")
    assert robust["latency_from"] == "untraced"
    assert robust["outliers"]["values"] == [9.0]
    check_robust(robust)


def test_the_pair_is_compared_under_its_own_labels(run_directory):
    summary = read_json(run_directory / "analysis_summary.json")
    (comparison,) = summary["comparisons"]
    (path,) = run_directory.glob("*_comparison.csv")
    assert str(path.name) in summary["csv_files"]
    rows = read_csv(path)
    baseline, candidate = comparison["baseline"], comparison["candidate"]
    assert list(rows[0])[:6] == [
        "category",
        f"{baseline}_ms",
        f"{candidate}_ms",
        "speedup",
        f"{baseline}_pct",
        f"{candidate}_pct",
    ]
    for label, variant in ((baseline, "baseline"), (candidate, "candidate")):
        assert sum(float(row[f"{label}_pct"]) for row in rows) == pytest.approx(100, abs=1e-9)
        total_ms = comparison["whole"][f"{variant}_total_ns"] / comparison[f"{variant}_runs"] / 1e6
        assert sum(float(row[f"{label}_ms"]) for row in rows) == pytest.approx(total_ms, rel=1e-9)
    delta = comparison["whole"]["delta_numerator_ns"] / comparison["delta_denominator"] / 1e6
    assert sum(float(row["delta_ms"]) for row in rows) == pytest.approx(delta, rel=1e-9, abs=1e-12)
    robust = read_json(next(run_directory.glob("*_robust_comparison.json")))
    assert robust["config1"]["name"] == baseline
    assert robust["config2"]["name"] == candidate
    assert robust["verdict"] == comparison["latency"]["verdict"]
    variants = [read_json(Path(f"{stem}_robust_stats.json"))["robust_stats"] for _, stem in experiments(run_directory)]
    assert robust["speedup"]["median_based"] == pytest.approx(variants[0]["median_ms"] / variants[1]["median_ms"])


def test_the_kits_names_of_the_summary_are_there(run_directory):
    model = read_json(run_directory / "analysis_summary.json")["model_id"]
    for suffix in ("json", "md"):
        kit = run_directory / f"{model}_pipeline_summary.{suffix}"
        assert kit.read_bytes() == (run_directory / f"pipeline_summary.{suffix}").read_bytes()


def test_several_pairs_have_a_file_each(tmp_path):
    data = program.DATA / "sme2_emulated"
    for threads in (1, 2):
        for variant in ("off", "on"):
            folder = tmp_path / f"sme2_{variant}"
            folder.mkdir(exist_ok=True)
            shutil.copy(data / f"toy_cnn.sme2_{variant}.etdump", folder / f"toy_cnn_sme2_{variant}_t{threads}.etdump")
    completed = program.run("analyze", tmp_path, "--quiet", "--no-timeline")
    assert completed.returncode == 0, completed.stderr
    assert sorted(path.name for path in tmp_path.glob("*_comparison.csv")) == [
        "toy_cnn_sme2_on_t1_vs_sme2_off_t1_comparison.csv",
        "toy_cnn_sme2_on_t2_vs_sme2_off_t2_comparison.csv",
    ]


def test_compare_writes_the_tables_of_both_variants(tmp_path):
    variants = [program.DATA / "sme2_emulated" / f"toy_q8.sme2_{variant}.etdump" for variant in ("off", "on")]
    completed = program.run("compare", *variants, "-o", tmp_path, "--name1", "before", "--name2", "after, now")
    assert completed.returncode == 0, completed.stderr
    (row, *_) = read_csv(tmp_path / "toy_q8_comparison.csv")
    assert list(row)[:3] == ["category", "before_ms", "after, now_ms"]
