"""The ISA ladder of a real model on this machine, with the real runner (docs/guides/isa.md)."""

import csv
import io
import json
import subprocess

import pytest
from measure_bench import MODEL

pytestmark = pytest.mark.usefixtures("runner")


def run(etprof, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run([etprof, *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def levels(etprof) -> list[dict]:
    found = json.loads(run(etprof, "isa", "--json").stdout)["levels"]
    if len(found) < 2:
        pytest.skip("this CPU has nothing but its architecture's baseline")
    return found


@pytest.fixture(scope="module")
def folder(etprof, levels, tmp_path_factory):
    """The results directory of toy_cnn's ladder."""
    assert levels, "without levels this is skipped"
    out = tmp_path_factory.mktemp("ladder") / "run"
    completed = run(etprof, "isa", MODEL, "--launches", 4, "--max-seconds", 25, "--output-root", out)
    assert completed.returncode == 0, completed.stderr
    # On a busy machine the best level may be inconclusive.
    assert all(level["name"] in completed.stdout for level in levels), completed.stdout
    return out


@pytest.fixture(scope="module")
def ladder(etprof, folder) -> dict:
    """The ladder of the results directory, read without a measurement."""
    completed = run(etprof, "isa", folder, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)["ladder"]


def test_all_shows_the_whole_ladder(etprof, folder, ladder):
    """--all adds categories, all operators, and a plot of the latencies of all levels."""
    screen, full_screen = run(etprof, "isa", folder).stdout, run(etprof, "isa", folder, "--all").stdout
    assert "▲ median; a column's height" in full_screen and "▲" not in screen
    assert "\n  category, " in full_screen and "\n  category, " not in screen
    operators = full_screen.split("\n  operator, ")[1].split("\n\n")[0].splitlines()[1:]
    assert len(operators) == len(ladder["operators"])


def test_it_has_the_levels_of_the_cpu(levels, ladder):
    assert [level["name"] for level in ladder["levels"]] == [level["name"] for level in levels]
    assert all(level["error"] is None for level in ladder["levels"])
    assert ladder["interleaved"]
    assert [cell["level"] for cell in ladder["latency"]["cells"]] == [level["name"] for level in levels]
    for cell in ladder["latency"]["cells"][1:]:
        verdicts = ("same", "faster", "slower", "inconclusive")
        assert cell["over_below"]["verdict"] in (*verdicts, "contended"), "none is dropped"
        assert (cell["over_below"]["ratio"] is None) == (cell["over_below"]["verdict"] == "contended")


def test_every_operator_of_every_level_is_in_one_row(folder, ladder):
    summary = json.loads((folder / "analysis_summary.json").read_text())
    assert summary["ladder"] == ladder
    for experiment in summary["experiments"]:
        cells = [
            cell
            for row in ladder["operators"]
            for cell in row["cells"]
            if cell["level"] == experiment["name"] and cell["ms"] is not None
        ]
        assert sorted(cell["key"] for cell in cells) == sorted(row["key"] for row in experiment["operators"])
        assert sum(cell["ms"] for cell in cells) == pytest.approx(
            sum(row["mean_ms"] for row in experiment["operators"])
        )


def test_the_ladder_has_an_ordinary_results_directory(etprof, folder, ladder):
    completed = run(etprof, "validate", folder)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    shown = run(etprof, "analyze", folder)
    assert shown.returncode == 0
    assert "vs. below" in shown.stdout
    assert "## ISA ladder" in (folder / "report.md").read_text()
    table = run(etprof, "report", "--csv=ladder", folder)
    rows = list(csv.DictReader(io.StringIO(table.stdout)))
    latency = [row for row in rows if row["what"] == "latency"]
    assert [row["level"] for row in latency] == [level["name"] for level in ladder["levels"]]
    ratio = ladder["latency"]["cells"][-1]["over_lowest"]["ratio"]
    # The ratio is None if the comparison is contended, as on a busy machine.
    assert (
        latency[-1]["over_lowest"] == "" if ratio is None else float(latency[-1]["over_lowest"]) == pytest.approx(ratio)
    )


def test_the_cpus_features_are_a_table(etprof):
    found = json.loads(run(etprof, "isa", "--json").stdout)["features"]
    rows = list(csv.DictReader(run(etprof, "isa", "--csv=features").stdout.splitlines()))
    rows = list(csv.DictReader(run(etprof, "isa", "--csv=features").stdout.splitlines()))
    assert {row["feature"] for row in rows if row["here"] == "yes"} <= set(found)
    assert len(rows) >= len(set(found) & {row["feature"] for row in rows}) > 0


def test_other_files_than_ladders_are_refused(etprof, tmp_path):
    data = MODEL.parent
    completed = run(etprof, "isa", data / "sme2_emulated")
    assert completed.returncode == 3
    assert "is not a run of `etprof isa`" in completed.stderr
    for options in ([], ["--csv"], ["--csv=ladder"]):
        assert run(etprof, "isa", tmp_path / "missing.pte", *options).returncode == 3
    assert run(etprof, "profile", tmp_path / "missing.pte", "--csv=ladder").returncode == 2
    assert run(etprof, "isa", "--csv").returncode == 2
    assert run(etprof, "isa", MODEL, "--widest").returncode == 2
    assert run(etprof, "isa", MODEL, "--threads", "2,2").returncode == 2
    completed = run(etprof, "report", "--csv=ladder", data / "toy_cnn.t1.etdump")
    assert completed.returncode == 2
    assert "--csv=ladder" in completed.stderr
