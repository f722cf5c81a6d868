"""Single files and folders as arguments: etprof also finds the files next to and below them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

EMULATED = program.DATA / "sme2_emulated"


def test_a_trace_with_a_kernel_log_has_no_times(tmp_path):
    variants = []
    for variant in ("off", "on"):
        variants.append(tmp_path / f"{variant}.etdump")
        shutil.copy(EMULATED / f"toy_cnn.sme2_{variant}.etdump", variants[-1])
    timed = json.loads(program.run("compare", *variants, "--json").stdout)
    assert timed["experiments"][0]["latency_ms"]["n"] > 0
    shutil.copy(program.DATA / "toy_cnn.t1.log", tmp_path / "off_xnntrace.log")
    completed = program.run("compare", *variants)
    assert "faster" not in completed.stdout + completed.stderr
    assert "kernel-log" in completed.stdout + completed.stderr
    baseline, candidate = json.loads(program.run("compare", *variants, "--json").stdout)["experiments"]
    assert (baseline["trace_enabled"], candidate["trace_enabled"]) == (True, False)
    assert baseline["latency_ms"]["n"] == 0


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """One results directory in out/runs/a."""
    out = tmp_path_factory.mktemp("above") / "out"
    options = ("--launches", 3, "--runs", 10, "--no-peaks", "--output-root", out / "runs" / "a")
    assert program.run("profile", program.DATA / "toy_cnn.pte", *options).returncode == 0
    return out


def test_a_folder_above_run_directories_says_which_there_are(runs):
    for command in ("analyze", "report", "validate", "trace"):
        completed = program.run(command, runs)
        if command == "validate":
            assert completed.returncode != 0
            continue
        assert completed.returncode == 3, (command, completed.stdout, completed.stderr)
        assert (
            completed.stderr
            == f"error: `{runs}` is not a results directory, but holds one: runs/a\nhint: Give that one.\n"
        )
    shutil.copytree(runs / "runs" / "a", runs / "runs" / "b")
    completed = program.run("analyze", runs)
    assert completed.stderr == (
        f"error: `{runs}` is not a results directory, but holds several: runs/a, runs/b\nhint: Give one or more of them.\n"
    )
    shutil.rmtree(runs / "runs" / "b")
    assert program.run("analyze", runs / "runs" / "a").returncode == 0


def test_the_interval_of_a_median_is_around_it(runs):
    (experiment,) = json.loads((runs / "runs/a/analysis_summary.json").read_text())["experiments"]
    interval = experiment["latency_interval_ms"]
    if interval is None:  # next to the processes of other tests, too few launches may have clean runs
        assert experiment["clean_runs"] < experiment["all_runs"]
        return
    low, high = interval["low"], interval["high"]
    assert low <= experiment["latency_ms"]["p50"] <= high
    assert low * high == pytest.approx(experiment["latency_ms"]["p50"] ** 2)


def test_experiments_of_two_runs_are_compared_as_they_were_measured(tmp_path):
    model = Path(shutil.copy(program.DATA / "toy_cnn.pte", tmp_path / "other_net.pte"))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    runs = [
        program.measure_two(tmp_path / "a", ("one", "other"), launches=3, runs=4),
        program.measure_two(tmp_path / "b", ("one", "other"), launches=3, runs=4, model=model),
    ]
    completed = program.run("compare", runs[0] / "one", runs[1] / "one", "--json")
    assert completed.returncode == 0, completed.stderr
    document = json.loads(completed.stdout)
    assert [variant["latency_from"] for variant in document["experiments"]] == ["untraced", "untraced"]
    assert not any("manifest.json" in warning for warning in document["warnings"])
    # With two models, the labels and the heading name them.
    assert [variant["label"] for variant in document["experiments"]] == ["one, toy_cnn", "one, other_net"]
    shown = program.run("compare", runs[0] / "one", runs[1] / "one").stdout
    assert shown.startswith("other_net, toy_cnn"), shown
    # `analyze` also reads such a folder alone.
    completed = program.run("analyze", runs[0] / "one", "-o", tmp_path / "out")
    assert completed.returncode == 0, completed.stderr
    assert "this is an experiment's folder" in " ".join(completed.stdout.split())


def test_comparisons_name_other_conditions(runs, tmp_path):
    model = program.DATA / "toy_cnn.pte"
    options = {
        "threads": ("--threads", 2, "--launches", 2, "--runs", 4),
        "period": ("--period", "3ms", "--launches", 2, "--runs", 4),
        "sustained": ("--sustained", "1s"),
    }
    for name, arguments in options.items():
        arguments = (*arguments, "--no-peaks", "--output-root", tmp_path / name)
        assert program.run("profile", model, *arguments).returncode == 0
    expected = {
        "threads": "the two differ in threads (baseline: 1; candidate: 2)",
        "period": "the two differ in period (baseline: back to back; candidate: 3ms)",
        "sustained": "as it is (A) ran in bursts and as it is (B) ran for 1 s without a rest: the heat differs, so their "
        "times are not compared",
    }
    for name, warning in expected.items():
        document = json.loads(program.run("compare", runs / "runs/a", tmp_path / name, "--json").stdout)
        assert warning in document["warnings"]
        (comparison,) = document["comparisons"]
        if name == "sustained":
            latency = comparison["latency"]
            assert (latency["verdict"], latency["ratio"]) == ("inconclusive", None)
    report = program.run("report", runs / "runs/a", tmp_path / "sustained", "--out", "-").stdout
    assert "load (not compared): bursts on" in report
    assert "Speedups between" not in report
    document = json.loads(program.run("compare", runs / "runs/a", runs / "runs/a", "--json").stdout)
    assert not any("differ in" in warning for warning in document["warnings"])


def test_given_names_apply_to_two_variants_of_one_run(tmp_path):
    run = program.measure_two(tmp_path, ("one", "other"), launches=3, runs=4)
    completed = program.run("compare", run / "one", run / "other", "--name1", "before", "--name2", "after")
    assert completed.returncode == 0, completed.stderr
    # The names are the headings of the two time columns, and the names of the folders do not appear.
    heading = next(line for line in completed.stdout.splitlines() if line.lstrip().startswith("Startup & memory"))
    assert heading.split()[3:5] == ["before", "after"]
    assert "other" not in heading
    document = json.loads(
        program.run("compare", run / "one", run / "other", "--name1", "before", "--name2", "after", "--json").stdout
    )
    assert [variant["label"] for variant in document["experiments"]] == ["before", "after"]
    # The baseline is first in every table, whichever was measured first.
    document = json.loads(program.run("compare", run / "other", run / "one", "--json").stdout)
    assert [variant["label"] for variant in document["experiments"]] == ["other", "one"]
    (pair,) = document["comparisons"]
    assert (pair["baseline"], pair["candidate"]) == ("other", "one")
    # Rows of timelines contain the model, so a common prefix of the file names does not matter.
    assert program.run("analyze", run, "--quiet").returncode == 0
    timelines = [next((run / variant).glob("*_all_runs_timeline.csv")) for variant in ("one", "other")]
    document = json.loads(program.run("compare", *timelines, "--json").stdout)
    assert document["model_id"] == json.loads((run / "analysis_summary.json").read_text())["model_id"]
    # Users of the kit write into the results directory itself, whose own tables remain.
    kit = ["--timeline-csv", timelines[0], "--compare", timelines[1], "--name1", "a", "--name2", "b", "--verbose"]
    completed = program.run("compare", *kit, "--output-dir", run)
    assert completed.returncode == 0, completed.stderr
    assert "All operators:" in completed.stdout
    assert (run / "toy_cnn_compared_comparison.csv").is_file()
    completed = program.run("validate", run)
    assert completed.returncode == 0, completed.stdout
    # With only one name, the other variant keeps its own.
    document = json.loads(program.run("compare", run / "one", run / "other", "--name1", "before", "--json").stdout)
    assert [variant["label"] for variant in document["experiments"]] == ["before", "other"]


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_that_may_not_be_read_is_not_called_empty(mode, tmp_path_factory):
    """Runs as another user if the tests run as root, because file modes do not restrict root."""
    folder = tmp_path_factory.mktemp("closed") / "traces"
    folder.mkdir()
    shutil.copy(program.DATA / "toy_cnn.t1.etdump", folder)
    other_user = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("runs as root, and there is no setpriv")
        other_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        # Only their owner may enter pytest's own folders.
        for above in (folder.parent, tmp_path_factory.getbasetemp(), tmp_path_factory.getbasetemp().parent):
            above.chmod(above.stat().st_mode | 0o001)
    folder.chmod(mode)
    for command in ([program.etprof(), "--version"], ["test", "-d", folder]):
        if subprocess.run([*other_user, *command], capture_output=True).returncode != 0:
            pytest.skip("the other user may not run etprof, or not see the folder")
    try:
        completed = subprocess.run([*other_user, program.etprof(), "analyze", folder], capture_output=True, text=True)
    finally:
        folder.chmod(0o755)
    assert completed.returncode == 3
    assert completed.stdout == ""
    assert completed.stderr == f"error: `{folder}` cannot be read: permission denied\nhint: Check its permissions.\n"
    assert program.run("analyze", folder, "--quiet").returncode == 0
