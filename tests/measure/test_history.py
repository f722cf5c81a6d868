"""`etprof history`: runs of scripted workers, added, shown, and checked."""

import csv
import io
import json
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import jsonschema
import pytest
from measure_bench import Bench

PASS, FAIL, USAGE, BAD_INPUT, DEVICE, INCONCLUSIVE = 0, 1, 2, 3, 4, 5


def measured(bench, name: str = "run", factor: float = 1, launches: int = 4) -> pathlib.Path:
    """A run directory of a reference, "fixed", and of "net", which takes `factor` times as long."""
    bench.out = bench.folder / name
    experiments = [
        bench.experiment("fixed"),
        bench.experiment("net", env={"FAKE_LATENCY_NS": str(round(1_000_000 * factor))}),
    ]
    result = bench.run("run", bench.write(experiments, launches=launches))
    assert result.returncode == 0, result.stderr
    return bench.out


@pytest.fixture(scope="module")
def series(tmp_path_factory, etprof) -> pathlib.Path:
    """A folder with two runs, of which the second one's net takes 5% longer."""
    bench = Bench(tmp_path_factory.mktemp("series"), etprof)
    measured(bench, "fast")
    measured(bench, "slow", 1.05)
    return bench.folder


def as_measured_at(run: pathlib.Path, to: pathlib.Path, second: int) -> pathlib.Path:
    """The same run, measured at another time."""
    shutil.copytree(run, to)
    path = to / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["generated_at"] = f"2026-01-01T00:00:{second:02}Z"
    path.write_text(json.dumps(manifest))
    return to


def add(bench, run: pathlib.Path, commit: str, *more) -> subprocess.CompletedProcess:
    return bench.run("history", "add", run, "--commit", commit, *more)


@pytest.fixture
def history(bench, series) -> pathlib.Path:
    """Twelve runs of one commit each; from c7 on, net is slower."""
    for number in range(12):
        run = as_measured_at(series / ("fast" if number < 7 else "slow"), bench.folder / f"r{number}", number)
        result = add(bench, run, f"c{number}", "--reference", "fixed")
        assert result.returncode == 0, result.stderr
    return bench.folder / "etprof-history.sqlite"


def tables(result: subprocess.CompletedProcess) -> list[dict]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.mark.usefixtures("history")
def test_it_says_when_and_by_how_much(bench):
    junit = bench.folder / "history.xml"
    result = bench.run("history", "check", "--csv", "changes", "--junit", junit)
    assert result.returncode == FAIL, result.stderr
    (change,) = [row for row in tables(result) if row["commit"]]
    assert change["commit"] == "c7"
    assert change["cause"] == "code"
    assert float(change["change"]) == pytest.approx(0.05, abs=1e-3)
    root = ElementTree.parse(junit).getroot()  # noqa: S314 (our own file)
    (case,) = root.iter("testcase")
    assert "c7" in case.find("failure").get("message")
    assert bench.run("history", "check", "--since", "c9").returncode == PASS
    assert bench.run("history", "check", "--since", "nothing").returncode == USAGE
    assert bench.run("history", "check", "--last", "4").returncode == INCONCLUSIVE
    assert bench.run("history", "check", "--last", "4", "--require-conclusive").returncode == FAIL


def test_trends(bench, history):
    before = history.read_bytes()
    result = bench.run("history", "--csv", "trend", "--experiment", "net")
    assert result.returncode == 0, result.stderr
    rows = tables(result)
    assert [row["commit"] for row in rows] == [f"c{number}" for number in reversed(range(12))]
    assert float(rows[0]["time"]) == pytest.approx(1.05, rel=1e-3)
    assert float(rows[-1]["relative"]) == pytest.approx(1, rel=1e-3)
    page = bench.folder / "history.html"
    shown = bench.run("history", "show", "--html", page, "--model", "toy", "--json")
    document = json.loads(shown.stdout)
    assert [section.get("title") for section in document["sections"]][1:] == [
        "toy_cnn, fixed, on local",
        "toy_cnn, net, on local",
    ]
    assert page.read_text().startswith("<!doctype html>")
    operators = bench.run("history", "--operator", "Convolution", "--csv", "trend", "--experiment", "net")
    assert float(tables(operators)[0]["time"]) > 0
    assert bench.run("history", "--model", "other").returncode == BAD_INPUT
    assert history.read_bytes() == before


def test_the_same_run_is_added_once(bench):
    run = measured(bench)
    assert "added" in add(bench, run, "abc").stdout
    assert "already there" in add(bench, run, "abc").stdout
    other = add(bench, run, "def")
    assert other.returncode == USAGE
    assert "abc" in other.stderr
    missing = bench.run("history", "add", run)
    assert missing.returncode == USAGE
    assert "--commit" in missing.stderr
    assert bench.run("history", "add", run, "--commit", "abc", "--last", "3").returncode == USAGE
    assert add(bench, run, "abc", "--history", "other.sqlite", "--reference", "none").returncode == USAGE
    assert not (bench.folder / "other.sqlite").exists()


def test_self_times_add_up(bench):
    add(bench, measured(bench), "abc")
    with sqlite3.connect(bench.folder / "etprof-history.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = database.execute(
            "SELECT experiment, operator_runs, sum(self_ns) FROM operator_time "
            "JOIN result ON result.id = result JOIN series ON series.id = series GROUP BY result"
        ).fetchall()
    analysis = json.loads(bench.run("analyze", bench.out, "--json").stdout)
    assert len(rows) == 2
    for experiment, _, total in rows:
        entry = next(e for e in analysis["per_etdump"] if e["experiment"] == experiment)
        assert total / 1e6 == pytest.approx(sum(entry["category_totals_ms"].values()))


def test_git_says_which_commit_and_when(bench):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    environment = {"GIT_COMMITTER_DATE": "2020-02-03T04:05:06Z"}
    subprocess.run([*git, "init", "-q"], cwd=bench.folder, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=bench.folder, check=True, env=environment)
    sha = subprocess.run([*git, "rev-parse", "HEAD"], cwd=bench.folder, check=True, stdout=subprocess.PIPE, text=True)
    result = add(bench, measured(bench), "HEAD")
    assert sha.stdout.strip() in result.stdout
    with sqlite3.connect(bench.folder / "etprof-history.sqlite") as database:
        assert database.execute("SELECT commit_name, time FROM run").fetchone() == (sha.stdout.strip(), 1580702706)


def test_other_files_are_refused_and_left_as_they_are(bench):
    run = measured(bench)
    text = bench.folder / "text"
    text.write_text("mine")
    other = bench.folder / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine(x)")
    for file in (text, other):
        before = file.read_bytes()
        for words in (["add", run, "--commit", "c"], ["show"], ["check"]):
            result = bench.run("history", *words, "--history", file)
            assert result.returncode == BAD_INPUT
            assert result.stderr.startswith(f"error: `{file}` is not a history that etprof wrote\nhint: ")
        assert file.read_bytes() == before
    assert bench.run("history", "--history", "missing").returncode == BAD_INPUT
    assert not (bench.folder / "missing").exists()


def test_concurrent_adds_all_land_and_a_killed_one_loses_nothing(bench, series):
    runs = [as_measured_at(series / "fast", bench.folder / f"r{number}", number) for number in range(6)]
    processes = [bench.start("history", "add", run, "--commit", "c") for run in runs]
    assert [process.wait() for process in processes] == [0] * 6
    killed = bench.start("history", "add", as_measured_at(series / "slow", bench.folder / "k", 30), "--commit", "k")
    time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with sqlite3.connect(bench.folder / "etprof-history.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM run WHERE commit_name = 'c'").fetchone() == (6,)


# https://bencher.dev/docs/reference/bencher-metric-format has this schema.
BMF = {
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")},
                    "required": ["value"],
                    "additionalProperties": False,
                }
            },
        }
    },
}
# https://github.com/pytorch/pytorch/wiki/PyTorch-OSS-benchmark-infra, in words there.
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
HUD = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["benchmark", "model", "metric"],
        "additionalProperties": False,
        "properties": {
            "benchmark": {
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"name": {"type": "string"}, "mode": {"enum": ["inference"]}, "extra_info": TEXTS},
            },
            "model": {
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"extra_info": TEXTS} | {key: {"type": "string"} for key in ("name", "type", "backend")},
            },
            "metric": {
                "required": ["name", "benchmark_values"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"},
                    "benchmark_values": {"type": "array", "minItems": 1, "items": {"type": "number"}},
                },
            },
        },
    },
}


@pytest.mark.usefixtures("history")
def test_other_trackers_read_it(bench):
    bmf = json.loads(bench.run("history", "export").stdout)
    jsonschema.validate(bmf, BMF)
    assert list(bmf) == ["toy_cnn, fixed, on local", "toy_cnn, net, on local"]
    latency = bmf["toy_cnn, net, on local"]["latency"]
    assert latency["value"] == pytest.approx(1_050_000, rel=1e-3)
    assert latency["lower_value"] <= latency["value"] <= latency["upper_value"]
    hud = bench.folder / "hud.json"
    assert bench.run("history", "export", "--format", "hud", "--experiment", "net", "--out", hud).stdout == ""
    records = json.loads(hud.read_text())
    jsonschema.validate(records, HUD)
    assert [record["benchmark"]["extra_info"]["commit"] for record in records] == [f"c{n}" for n in range(12)]
    assert records[-1]["metric"]["benchmark_values"] == pytest.approx([1.05] * 4, rel=1e-3)
    assert bench.run("history", "show", "--format", "hud").returncode == USAGE
