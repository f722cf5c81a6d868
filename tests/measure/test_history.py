"""`etprof history`: adds, shows, and checks runs of scripted workers."""

import csv
import io
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import jsonschema
import pytest
from history_runs import copy_with_time, measure, slow_down
from measure_bench import FAKE_WORKER, MODEL, Bench, held_worker
from program import parse_with_schema, wait_until

PASS, FAIL, USAGE, BAD_INPUT, DEVICE, INCONCLUSIVE = 0, 1, 2, 3, 4, 5


@pytest.fixture(scope="module")
def series(tmp_path_factory, etprof) -> pathlib.Path:
    """A folder with two runs. In the second one, net takes 5% longer."""
    bench = Bench(tmp_path_factory.mktemp("series"), etprof)
    measure(bench, "fast")
    measure(bench, "slow", 1.05)
    return bench.folder


def add(bench, run: pathlib.Path, commit: str, *options) -> subprocess.CompletedProcess:
    return bench.run("history", "add", run, "--commit", commit, *options)


@pytest.fixture
def history(bench, series) -> pathlib.Path:
    """A history of twelve runs with one commit each. From c7 on, net is slower."""
    for number in range(12):
        run = copy_with_time(series / ("fast" if number < 7 else "slow"), bench.folder / f"r{number}", number)
        result = add(bench, run, f"c{number}", "--reference", "fixed")
        assert result.returncode == 0, result.stderr
    return bench.folder / "etprof-history.sqlite"


def tables(result: subprocess.CompletedProcess) -> list[dict]:
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.mark.usefixtures("history")
def test_a_change_has_a_commit_and_a_size(bench):
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
    document = parse_with_schema("history_check", bench.run("history", "check", "--json").stdout)
    assert (document["result"], document["since"], document["smallest"]) == ("fail", None, 0.01)
    by_experiment = {entry["experiment"]: entry for entry in document["series"]}
    assert {name: entry["result"] for name, entry in by_experiment.items()}["net"] == "fail"
    assert by_experiment["fixed"]["is_reference"]
    (message,) = by_experiment["net"]["changes"]
    assert (message["commit"], message["cause"], message["accepted"], message["counts"]) == ("c7", "code", None, True)
    assert message["growth_low"] <= message["growth"] <= message["growth_high"]
    assert message["growth"] == pytest.approx(0.05, abs=1e-3)
    assert (by_experiment["net"]["measurements"], by_experiment["net"]["newest_commit"]) == (12, "c11")
    assert bench.run("history", "check", "--since", "c9").returncode == PASS
    assert bench.run("history", "check", "--since", "nothing").returncode == USAGE
    last = ["history", "check", "--last", "4", "--junit", junit]
    for options, code, result, outcome in (
        ([], INCONCLUSIVE, "INCONCLUSIVE", "skipped"),
        (["--require-conclusive"], FAIL, "FAIL", "failure"),
    ):
        checked = bench.run(*last, *options)
        assert checked.returncode == code, checked.stderr
        assert f"{result}: 1 of 1 series could not be decided" in checked.stdout
        assert f"<{outcome} " in junit.read_text()


@pytest.mark.usefixtures("history")
def test_a_change_that_is_accepted_passes_with_its_reason(bench):
    assert bench.run("history", "check").returncode == FAIL
    for arguments, message in (
        (["--commit", "c7"], "no reason"),
        (["--reason", "x"], "no commit"),
        (["--commit", "c1", "--reason", "x", "--model", "other"], "no series"),
        (["--commit", "none", "--reason", "x"], "no measurement of commit"),
    ):
        refused = bench.run("history", "accept", *arguments)
        assert refused.returncode == USAGE
        assert message.split()[-1] in refused.stderr
    assert bench.run("history", "accept", "--commit", "c6", "--reason", "too early").returncode == PASS
    assert bench.run("history", "check").returncode == FAIL
    accepted = bench.run("history", "accept", "--commit", "c7", "--reason", "exact batch norm")
    assert accepted.returncode == PASS, accepted.stderr
    assert "toy_cnn, net, on local: accepted" in accepted.stdout
    checked = bench.run("history", "check")
    assert checked.returncode == PASS
    assert "Accepted: exact batch norm" in " ".join(checked.stdout.split())
    document = parse_with_schema("history_check", bench.run("history", "check", "--json").stdout)
    (change,) = [change for entry in document["series"] for change in entry["changes"]]
    assert (document["result"], change["accepted"], change["counts"]) == ("pass", "exact batch norm", False)


def test_a_device_can_have_a_name(bench, series):
    for number, name in enumerate(("ci-1", "ci-2")):
        run = copy_with_time(series / "fast", bench.folder / f"r{number}", number)
        assert add(bench, run, "c1", "--device-name", name).returncode == PASS
    shown = bench.run("history", "--csv", "series")
    assert {row["name"].rpartition(", on ")[2] for row in tables(shown)} == {"ci-1", "ci-2"}


def test_histories_of_several_machines_become_one(bench, history):
    shutil.copyfile(history, bench.folder / "theirs.sqlite")
    assert bench.run("history", "delete", "--commit", "c3").stdout == f"{history.name}: deleted 1 measurement\n"
    merged = bench.run("history", "merge", "theirs.sqlite", "theirs.sqlite")
    assert merged.stdout == f"{history.name}: 12 measurements, 1 of them new\n"
    before = history.read_bytes()
    (bench.folder / "cut.sqlite").write_bytes(before[:5000])
    for arguments in (["merge"], ["merge", "nowhere.sqlite"], ["merge", "cut.sqlite"], ["merge", history.name]):
        refused = bench.run("history", *arguments)
        assert refused.returncode in (USAGE, BAD_INPUT), refused.stderr
        assert "hint: " in refused.stderr
    assert history.read_bytes() == before
    # Merging into a new history works.
    assert bench.run("history", "merge", "theirs.sqlite", "--history", "all.sqlite").returncode == PASS
    assert bench.run("history", "check", "--history", "all.sqlite").returncode == FAIL


def test_operators_that_changed(bench, series):
    for number in range(18):
        run = copy_with_time(series / "fast", bench.folder / f"r{number}", number)
        assert add(bench, run, f"c{number}", "--reference", "fixed").returncode == 0
    history = bench.folder / "etprof-history.sqlite"
    without_decision = bench.run("history", "check", "--csv", "operator_changes")
    assert without_decision.returncode == PASS, without_decision.stderr
    assert tables(without_decision) == []
    key = slow_down(history, "Convolution", 1.3, since=9)
    result = bench.run("history", "check", "--csv", "operator_changes", "--html", bench.folder / "page.html")
    assert result.returncode == PASS, result.stderr  # changed operators do not fail the check
    (change,) = tables(result)
    assert change["key"] == key
    assert change["commit"] == "c9"
    assert change["cause"] == "code"
    assert float(change["change"]) == pytest.approx(0.3, abs=1e-3)
    assert "Operators that changed" in bench.run("history", "check", "--all").stdout
    # With --operator, the operator has a separate series, with the cause.
    named = bench.run("history", "show", "--operator", key, "--experiment", "net", "--csv", "changes")
    (change,) = [row for row in tables(named) if row["commit"]]
    assert (change["commit"], change["cause"]) == ("c9", "code")


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
    # The page draws its charts from this document: one point per measurement, with its commit.
    charts = [part["chart"] for section in document["sections"] for part in section["parts"] if "chart" in part]
    assert [len(chart["points"]) for chart in charts] == [12, 12]
    assert charts[1]["points"][0] == "c0, 2026-01-01T00:00:00Z"
    assert [series["name"] for series in charts[1]["series"]] == ["latency", "/ reference"]
    operators = bench.run("history", "--operator", "Convolution", "--csv", "trend", "--experiment", "net")
    assert float(tables(operators)[0]["time"]) > 0
    assert bench.run("history", "--model", "other").returncode == BAD_INPUT
    unknown_operator = bench.run("history", "--operator", "Convolutoin")
    assert unknown_operator.returncode == BAD_INPUT and "no operator `Convolutoin`" in unknown_operator.stderr
    mistaken = bench.run("history", "check", history)
    assert mistaken.returncode == USAGE and "--history FILE" in mistaken.stderr
    assert history.read_bytes() == before


def test_the_same_run_is_added_once(bench):
    run = measure(bench)
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


def commits_in(file: pathlib.Path) -> list[tuple]:
    with sqlite3.connect(file) as database:
        return database.execute(
            "SELECT commit_name, reference, experiment, count(launch) FROM result JOIN run ON run.id = run "
            "JOIN series ON series.id = series JOIN launch ON launch.result = result.id GROUP BY result.id ORDER BY result.id"
        ).fetchall()


def test_finished_measurements_are_added(bench):
    pair = [bench.experiment("fixed"), bench.experiment("net")]
    config = bench.write(pair, launches=2)
    runner = ["--runner", FAKE_WORKER, "--launches", "2", "--runs", "4"]
    keep = ["--history", "h.sqlite", "--commit"]
    planned = bench.run("run", config, "--dry-run", *keep, "c0")
    assert planned.returncode == 0, planned.stderr
    assert not (bench.folder / "h.sqlite").exists()
    result = bench.run("run", config, *keep, "c1", "--reference", "fixed")
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == "h.sqlite: 1 measurement"
    # The result is the same as with `history add` afterwards.
    added = add(bench, bench.out, "c1", "--history", "other.sqlite", "--reference", "fixed")
    assert added.returncode == 0, added.stderr
    assert commits_in(bench.folder / "h.sqlite") == commits_in(bench.folder / "other.sqlite")
    assert [row[:3] for row in commits_in(bench.folder / "h.sqlite")] == [
        ("c1", "fixed", "fixed"),
        ("c1", "fixed", "net"),
    ]
    assert bench.run("profile", MODEL, *runner, "--output-root", "p", *keep, "c2").returncode == 0
    checked = bench.run("check", MODEL, MODEL, *runner, "--output-root", "c", *keep, "c3")
    assert checked.returncode in (PASS, FAIL, INCONCLUSIVE), checked.stderr
    assert [row[0] for row in commits_in(bench.folder / "h.sqlite")] == ["c1", "c1", "c2", "c3", "c3"]


def test_cells_of_a_suite_are_added_and_stay_with_their_commit(bench):
    suite = bench.folder / "suite.json"
    # Two models whose files have the same name are two series, also if the user adds their runs.
    names = ("net", "other")
    other = bench.folder / "other" / MODEL.name
    other.parent.mkdir()
    # The programs differ, because scripted runs of one program within a second count as one measurement.
    other.write_bytes(MODEL.read_bytes() + bytes(16))
    models = [{"name": name, "programs": {"fp32": str(path)}} for name, path in zip(names, (MODEL, other), strict=True)]
    keys = {"models": models, "dtypes": ["fp32"], "devices": ["local"]}
    keys |= {"variants": ["threads=2"], "output_root": str(bench.out), "runner_path": str(FAKE_WORKER), "runs": 4}
    keys |= {"launches": 2, "peaks": False, "env": {"FAKE_STATE": str(bench.folder / "state")}}
    suite.write_text(json.dumps(keys))
    for commit, message in (("c1", "added to commit c1"), ("c2", "already there, nothing added")):
        result = bench.run("suite", suite, "--history", "h.sqlite", "--commit", commit)
        assert result.returncode == 0, result.stderr
        assert result.stderr.splitlines()[-2].endswith(message)
        assert {row[0] for row in commits_in(bench.folder / "h.sqlite")} == {"c1"}
    assert bench.run("suite", bench.out, "--history", "h.sqlite").returncode == USAGE
    unknown = [
        "--output-root",
        bench.folder / "unknown",
        "--reference",
        "other",
        "--history",
        "h.sqlite",
        "--commit",
        "c",
    ]
    refused = bench.run("suite", suite, *unknown)
    assert refused.returncode == DEVICE and "`--reference other`" in refused.stderr
    assert not list((bench.folder / "unknown").glob("runs/**/manifest.json"))
    by_hand = bench.run(
        "history",
        "add",
        *(bench.out / "runs" / name / "fp32" / "local" for name in names),
        "--commit",
        "c1",
        "--history",
        "hand",
    )
    assert by_hand.returncode == 0, by_hand.stderr
    for file in ("h.sqlite", "hand"):
        with sqlite3.connect(bench.folder / file) as database:
            found = database.execute("SELECT DISTINCT model FROM series ORDER BY model").fetchall()
            assert found == [("net fp32",), ("other fp32",)]


def test_an_unusable_history_is_reported_and_loses_nothing(bench):
    config = bench.write([bench.experiment("net")], launches=2)
    keep = ["--history", "h.sqlite", "--commit", "c"]
    # Errors that are known before the measurement are reported before it.
    (bench.folder / "mine").write_text("mine")
    for arguments in (
        ["--history", "mine", "--commit", "c"],
        ["--history", "none/h.sqlite", "--commit", "c"],
        ["--history", "h.sqlite"],  # no checkout, so there is no HEAD
        ["--commit", "c"],
        [*keep, "--analysis-only"],
        [*keep, "--reference", "other"],
    ):
        refused = bench.run("run", config, *arguments)
        assert refused.returncode in (USAGE, BAD_INPUT), arguments
        assert len([line for line in refused.stderr.splitlines() if line.startswith("error: ")]) == 1
        assert not bench.out.exists()
    assert (bench.folder / "mine").read_text() == "mine"
    assert "`--reference other`: the measurement has no such experiment" in refused.stderr.splitlines()[-2]
    assert refused.stderr.splitlines()[-1] == "hint: Name one of: net."
    # A history that disappears during the measurement is known only after it.
    with held_worker(bench, launch=1) as environment:
        held = bench.start("run", bench.write([bench.experiment("net", env=environment)], launches=2), *keep)
        wait_until(lambda: (bench.folder / "hold.held").exists())
        (bench.folder / "h.sqlite").mkdir()
    _, errors = held.communicate(timeout=600)
    assert held.returncode == BAD_INPUT, errors
    assert errors.splitlines()[-1].startswith("hint: ")
    (bench.folder / "h.sqlite").rmdir()
    assert bench.run("validate", bench.out).returncode == 0
    failed = bench.run("history", "add", bench.out, *keep, "--reference", "other")
    assert failed.returncode == USAGE
    assert "has no experiment `other`" in failed.stderr.splitlines()[-2]
    assert failed.stderr.splitlines()[-1].startswith("hint: ")
    assert bench.run("history", "add", bench.out, *keep).returncode == 0
    # A damaged history is reported before the measurement.
    history, before = bench.folder / "h.sqlite", bench.manifest()
    original = history.read_bytes()
    history.write_bytes(original[:8192] + b"\xff" * 4096 + original[12288:])
    damaged = bench.run("run", config, *keep)
    assert damaged.returncode == BAD_INPUT
    assert "is damaged" in damaged.stderr
    assert bench.manifest() == before


def test_two_models_of_one_name_in_a_commit_are_warned_of(bench):
    other = pathlib.Path(__file__).parents[1] / "fuzz" / "corpus" / "etdump" / "toy_q8.sme2_on.etdump"
    warned = []
    for env in ({}, {}, {"FAKE_ETDUMP": str(other)}):
        config = bench.write([bench.experiment("net", env=env)], launches=2)
        completed = bench.run("run", config, "--history", "h.sqlite", "--commit", "c")
        assert completed.returncode == 0, completed.stderr
        warned += [line for line in completed.stderr.splitlines() if "with other operators" in line]
    assert warned == [
        f"warning: {bench.out}: Its commit has another run of `toy_cnn, net, on local`, with other operators. If that was "
        "another model, give the files different names: both are one series of the history."
    ]


def test_self_times_add_up(bench):
    add(bench, measure(bench), "abc")
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
    result = add(bench, measure(bench), "HEAD")
    assert sha.stdout.strip() in result.stdout
    with sqlite3.connect(bench.folder / "etprof-history.sqlite") as database:
        assert database.execute("SELECT commit_name, time FROM run").fetchone() == (sha.stdout.strip(), 1580702706)
    # A name that is not a commit is kept with a warning, and its control characters do not reach the terminal.
    named = add(bench, bench.out, "a\x1b[31m\nb", "--history", "named.sqlite")
    assert named.returncode == 0 and "\x1b" not in named.stdout + named.stderr and len(named.stdout.splitlines()) == 2
    assert named.stderr.startswith("warning: Git does not know commit `a")
    timed = add(bench, bench.out, "b", "--history", "timed.sqlite", "--time", "5")
    assert timed.returncode == 0 and timed.stderr == ""


def test_a_displayed_signature_does_not_hide_the_time_of_a_commit(bench, series):
    keygen = shutil.which("ssh-keygen")
    if keygen is None:
        pytest.skip("needs ssh-keygen")
    subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", bench.folder / "key"], check=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gpg.format=ssh"]
    git += ["-c", f"user.signingkey={bench.folder / 'key.pub'}"]
    environment = os.environ | {"GIT_COMMITTER_DATE": "2020-02-03T04:05:06Z"}
    subprocess.run([*git, "init", "-q"], cwd=bench.folder, check=True)
    subprocess.run([*git, "config", "log.showSignature", "true"], cwd=bench.folder, check=True)
    commit = [*git, "commit", "-q", "-S", "--allow-empty", "-m", "x"]
    subprocess.run(commit, cwd=bench.folder, check=True, env=environment)
    assert add(bench, series / "slow", "HEAD").returncode == 0
    with sqlite3.connect(bench.folder / "etprof-history.sqlite") as database:
        assert database.execute("SELECT time FROM run").fetchone() == (1580702706,)


def test_other_files_are_refused_and_left_as_they_are(bench):
    run = measure(bench)
    text = bench.folder / "text"
    text.write_text("mine")
    other = bench.folder / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine(x)")
    for file in (text, other):
        before = file.read_bytes()
        for arguments in (["add", run, "--commit", "c"], ["show"], ["check"]):
            result = bench.run("history", *arguments, "--history", file)
            assert result.returncode == BAD_INPUT
            assert result.stderr.startswith(f"error: `{file}` is not a history that etprof wrote\nhint: ")
        assert file.read_bytes() == before
    assert bench.run("history", "--history", "missing").returncode == BAD_INPUT
    assert not (bench.folder / "missing").exists()


def journal_that_deletes(history: pathlib.Path, victim: pathlib.Path) -> bytes:
    """Returns the journal of a killed writer, but after it SQLite deletes `victim` (sqlite.org/fileformat2.html, section 3)."""
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(victim)
    pages = history.stat().st_size // 4096
    header = magic + struct.pack(">5I", 0, 0, pages, 512, 4096)
    return (
        header.ljust(512, b"\0") + struct.pack(">I", 262145) + name + struct.pack(">2I", len(name), sum(name)) + magic
    )


@pytest.mark.parametrize("command", ["show", "check", "export", "add", "run"])
def test_a_foreign_history_deletes_nothing(bench, history, series, command):
    victim = bench.folder / "thesis.txt"
    victim.write_text("precious")
    journal = pathlib.Path(f"{history}-journal")
    journal.write_bytes(journal_that_deletes(history, victim))
    before = {file: file.read_bytes() for file in (victim, journal, history)}
    if command == "run":
        config = bench.write([bench.experiment("net")], launches=2)
        result = bench.run("run", config, "--history", history, "--commit", "c")
    else:
        result = bench.run("history", command, *([series / "fast", "--commit", "c"] if command == "add" else []))
    assert result.returncode == BAD_INPUT, result.stderr
    assert "makes SQLite delete another file" in result.stderr
    assert {file: file.read_bytes() for file in before} == before


def test_concurrent_adds_all_land_and_a_killed_one_loses_nothing(bench, series):
    runs = [copy_with_time(series / "fast", bench.folder / f"r{number}", number) for number in range(6)]
    processes = [bench.start("history", "add", run, "--commit", "c") for run in runs]
    assert [process.wait() for process in processes] == [0] * 6
    killed = bench.start("history", "add", copy_with_time(series / "slow", bench.folder / "k", 30), "--commit", "k")
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
# https://github.com/pytorch/pytorch/wiki/PyTorch-OSS-benchmark-infra describes the format.
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
    assert {record["model"]["extra_info"]["experiment"] for record in records} == {"net"}
    assert all("backend" not in record["model"] for record in records)  # a history does not store the backend
    assert records[-1]["metric"]["benchmark_values"] == pytest.approx([1.05] * 4, rel=1e-3)
    assert bench.run("history", "show", "--format", "hud").returncode == USAGE
