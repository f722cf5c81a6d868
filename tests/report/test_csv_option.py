"""`--csv` prints one table on stdout. The tests read it with Python's csv and compare it with `--json`."""

import csv
import io
import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

FILE = program.DATA / "toy_cnn.t1.etdump"
VARIANTS = [program.DATA / "sme2_emulated" / f"toy_q8.sme2_{variant}.etdump" for variant in ("off", "on")]


def table(*arguments: str | Path) -> list[dict[str, str]]:
    completed = program.run(*arguments)
    assert completed.returncode == 0, completed.stderr
    assert completed.stderr == ""
    rows = list(csv.DictReader(io.StringIO(completed.stdout), strict=True))
    assert all(None not in row and None not in row.values() for row in rows), "as many cells as columns"
    return rows


def report(*arguments: str | Path) -> dict:
    return json.loads(program.run(*arguments, "--json").stdout)


@pytest.mark.parametrize("name", ["groups", "categories"])
def test_breakdowns_add_up(name):
    (experiment,) = report("analyze", FILE)["experiments"]
    rows = table("analyze", FILE, f"--csv={name}")
    assert sum(float(row["pct_total"]) for row in rows) == pytest.approx(100, abs=1e-9)
    expected = {row["name"]: row["total_ns"] for row in experiment[name]["rows"]}
    column = {"groups": "group", "categories": "category"}[name]
    assert {row[column]: int(Decimal(row["total_ms"]) * 1_000_000) for row in rows} == expected


@pytest.mark.parametrize("by", ["delegate", "kernel", "category"])
def test_breakdowns_of_a_pair_add_up(by):
    pair = report("compare", *VARIANTS)["comparisons"][0]
    rows = table("compare", *VARIANTS, "--by", by, "--csv")
    for variant in ("baseline", "candidate"):
        total = sum(float(row[variant]) for row in rows if row[variant])
        mean = pair["whole"][f"{variant}_total_ns"] / pair[f"{variant}_runs"] / 1e6
        assert total == pytest.approx(mean, rel=1e-9), variant


def test_operators_are_what_analyze_shows_without_a_name():
    (experiment,) = report("analyze", FILE)["experiments"]
    rows = table("analyze", FILE, "--csv")
    assert rows == table("analyze", "--csv=operators", FILE)
    assert [row["key"] for row in rows] == [row["key"] for row in experiment["operators"]]
    for row, expected in zip(rows, experiment["operators"], strict=True):
        assert float(row["mean_ms"]) == pytest.approx(expected["mean_ms"], rel=1e-12)
        assert float(row["p50_ms"]) == pytest.approx(expected["self_ms"]["p50"], rel=1e-12)


def test_the_option_does_not_eat_the_file_behind_it():
    assert table("analyze", "--csv", FILE) == table("analyze", FILE, "--csv")


def test_latency_has_a_row_an_experiment():
    shown = report("analyze", *VARIANTS)["experiments"]
    rows = table("analyze", *VARIANTS, "--csv=latency")
    assert [float(row["median_ms"]) for row in rows] == [e["latency_ms"]["p50"] for e in shown]
    assert [row["threads"] for row in rows] == ["", ""]  # an ETDump does not say


def test_a_comparison_adds_up_to_its_delta():
    (comparison,) = report("compare", *VARIANTS)["comparisons"]
    rows = table("compare", *VARIANTS, "--csv")
    assert rows == table("compare", *VARIANTS, "--csv=comparison")
    (total,) = [row for row in rows if row["what"] == "whole"]
    for level in ("group", "category", "operator"):
        deltas = [float(row["delta_ms"]) for row in rows if row["what"] == level]
        assert sum(deltas) == pytest.approx(float(total["delta_ms"]), rel=1e-9, abs=1e-12)
    (latency,) = [row for row in rows if row["what"] == "latency"]
    for key in ("ratio", "ratio_low", "p_value", "baseline_ms"):
        assert (float(latency[key]) if latency[key] else None) == comparison["latency"][key]
    assert latency["verdict"] == comparison["latency"]["verdict"]


def test_report_shows_a_table_and_writes_nothing(tmp_path):
    etdump = tmp_path / "a.etdump"
    etdump.write_bytes(FILE.read_bytes())
    assert len(table("report", etdump, "--csv=groups")) >= 7
    assert [path.name for path in tmp_path.iterdir()] == ["a.etdump"]


def test_every_table_of_the_document_is_offered(tmp_path):
    completed = program.run("analyze", FILE, "--quiet", "--document", tmp_path / "document.json")
    assert completed.returncode == 0, completed.stderr
    document = json.loads((tmp_path / "document.json").read_text(encoding="utf-8"))
    tables = [part["table"] for section in document["sections"] for part in section["parts"] if "table" in part]
    names = {entry["id"] for entry in tables}
    assert {"self_times", "places", "report_latency", "report_operators"} <= names
    for name in names:
        rows = table("analyze", FILE, f"--csv={name}")
        assert len(rows) == sum(len(entry["rows"]) for entry in tables if entry["id"] == name)
    assert {row["value"] for row in table("analyze", FILE, "--csv=conditions")} == {FILE.name}


def test_by_selects_the_table():
    rows = table("analyze", FILE, "--by", "category", "--csv")
    assert rows == table("analyze", FILE, "--by", "category", "--csv=by_category")
    assert "category" in rows[0] and len(rows) > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--by", "category", "--csv=operators"],
            "error: `--csv` does not take `operators`\nhint: Give one of by_category.",
        ),
        (["--by", "counters", "--csv"], "error: --by counters has no table here: no counters"),
        (["--csv=operator"], "operators"),
        (["--csv=comparison"], "nothing is compared"),
        (["--csv", str(program.DATA / "sme2_emulated")], "`--csv` shows one report"),
    ],
)
def test_missing_tables_are_reported(arguments, message):
    completed = program.run("analyze", FILE, *arguments)
    assert completed.returncode == 2
    assert completed.stdout == ""
    assert message in completed.stderr
