"""`etprof validate`: each promise of a good run directory broken alone is named, and nothing else is."""

import csv
import fcntl
import json
import re
import shutil
from pathlib import Path

import program
import pytest
import test_schemas

DONE, CHECK_FAILED, BAD_INPUT = 0, 1, 3


def validate(*runs: Path) -> tuple[int, list[dict]]:
    done = program.run("validate", *runs, "--json")
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)["runs"]


def findings(run: Path, severity: str) -> list[dict]:
    _, (said,) = validate(run)
    return [finding for finding in said["findings"] if finding["severity"] == severity]


def change(path: Path, old: str, new: str, count: int = 1) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")


def edit(path: Path, do) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    do(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def rewrite(path: Path, lines: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def one(run: Path, suffix: str) -> Path:
    return run / "one" / f"toy_cnn_one_t1{suffix}"


def drop_a_latency(run: Path) -> None:
    lines = rows(one(run, "_latency.csv"))
    rewrite(one(run, "_latency.csv"), lines[:-1])


def spoil_a_latency(run: Path) -> None:
    lines = rows(one(run, "_latency.csv"))
    row = next(line for line in lines if line[4] == "recorded")
    row[6] = str(int(row[6]) * 1000)
    rewrite(one(run, "_latency.csv"), lines)


def add_runs_to_the_manifest(run: Path) -> None:
    def more(manifest: dict) -> None:
        manifest["results"][0]["etdump_runs"][0]["runs"] += 1

    edit(run / "manifest.json", more)


def truncate_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def add_a_nanosecond(table: str):
    def do(run: Path) -> None:
        def more(summary: dict) -> None:
            rows_of = summary["experiments"][0][table]
            (rows_of if table == "operators" else rows_of["rows"])[0]["total_ns"] += 1

        edit(run / "analysis_summary.json", more)

    return do


def move_a_delta(table: str, key: str = "delta_numerator_ns"):
    def do(run: Path) -> None:
        def more(summary: dict) -> None:
            summary["comparisons"][0][table][0][key] += 1

        edit(run / "analysis_summary.json", more)

    return do


def swap_the_etdump(run: Path) -> None:
    """Of the same name and number of runs, but of another experiment."""
    shutil.copy(run / "same" / "toy_cnn_same_t1.etdump", one(run, ".etdump"))


def metrics_of_another_run(run: Path) -> None:
    def more(metrics: dict) -> None:
        metrics["results"][1]["runs"] += 1

    edit(run / "metrics.json", more)


def forget_an_experiment(run: Path) -> None:
    edit(run / "analysis_summary.json", lambda summary: summary["experiments"].pop())


# What is done, the checks that must fail, and the file that must be named.
DAMAGE = {
    "manifest cut": (lambda run: truncate_last_byte(run / "manifest.json") or truncate_last_byte(run / "manifest.json"), {"manifest"}, "manifest.json"),
    "manifest with a misspelt key": (lambda run: change(run / "manifest.json", '"inputs_from"', '"input_from"'), {"manifest"}, "manifest.json"),
    "manifest with a wrong type": (lambda run: change(run / "manifest.json", '"rounds": 2', '"rounds": "2"'), {"manifest"}, "manifest.json"),
    "metrics missing": (lambda run: (run / "metrics.json").unlink(), {"metrics"}, "metrics.json"),
    "metrics that disagree": (metrics_of_another_run, {"metrics"}, "metrics.json"),
    "analysis missing": (lambda run: (run / "analysis_summary.json").unlink(), {"analysis_summary"}, "analysis_summary.json"),
    "analysis with a NaN": (lambda run: change(run / "analysis_summary.json", '"noise_floor": ', '"noise_floor": NaN, "x": '), {"analysis_summary"}, "analysis_summary.json"),
    "analysis that lacks an experiment": (forget_an_experiment, {"analysis_summary"}, "analysis_summary.json"),
    "pipeline summary empty": (lambda run: (run / "pipeline_summary.json").write_text(""), {"pipeline_summary"}, "pipeline_summary.json"),
    "roofs cut": (lambda run: truncate_last_byte(run / "peaks.json") or truncate_last_byte(run / "peaks.json"), {"peaks"}, "peaks.json"),
    "roofs of no experiment": (lambda run: change(run / "peaks.json", '"one"', '"two"'), {"peaks"}, "peaks.json"),
    "report missing": (lambda run: (run / "report.md").unlink(), {"files"}, "report.md"),
    "configuration missing": (lambda run: (run / "config.json").unlink(), {"files"}, "config.json"),
    "log empty": (lambda run: one(run, ".log").write_text(""), {"files"}, "one/toy_cnn_one_t1.log"),
    "latencies missing": (lambda run: one(run, "_latency.csv").unlink(), {"files"}, "one/toy_cnn_one_t1_latency.csv"),
    "timeline missing": (lambda run: one(run, "_exec_run0_timeline.csv").unlink(), {"files"}, "one/toy_cnn_one_t1_exec_run0_timeline.csv"),
    "ETDump missing": (lambda run: one(run, ".etdump").unlink(), {"files"}, "one/toy_cnn_one_t1.etdump"),
    "ETDump empty": (lambda run: one(run, ".etdump").write_bytes(b""), {"files"}, "one/toy_cnn_one_t1.etdump"),
    "ETDump cut": (lambda run: truncate_last_byte(one(run, ".etdump")), {"etdump"}, "one/toy_cnn_one_t1.etdump"),
    "ETDump of another experiment": (swap_the_etdump, {"timeline", "ops_stats", "analysis_summary"}, "one/toy_cnn_one_t1_exec_ops_stats.csv"),
    "runs that the ETDump has not": (add_runs_to_the_manifest, {"run_counts"}, "one/toy_cnn_one_t1.etdump"),
    "latencies with other columns": (lambda run: change(one(run, "_latency.csv"), "latency_ns", "latency_us"), {"latency_csv"}, "one/toy_cnn_one_t1_latency.csv"),
    "a latency that is no number": (lambda run: change(one(run, "_latency.csv"), "0,,,0,first,1,", "0,,,0,first,1,-"), {"latency_csv"}, "one/toy_cnn_one_t1_latency.csv"),
    "latencies cut": (lambda run: truncate_last_byte(one(run, "_latency.csv")), {"latency_csv"}, "one/toy_cnn_one_t1_latency.csv"),
    "a latency gone": (drop_a_latency, {"latency_counts"}, "one/toy_cnn_one_t1_latency.csv"),
    "a latency changed": (spoil_a_latency, {"latency_values"}, "one/toy_cnn_one_t1_latency.csv"),
    "a group that does not add up": (add_a_nanosecond("groups"), {"sums"}, "analysis_summary.json"),
    "a category that does not add up": (add_a_nanosecond("categories"), {"sums"}, "analysis_summary.json"),
    "a place that does not add up": (add_a_nanosecond("places"), {"sums"}, "analysis_summary.json"),
    "an operator that does not add up": (add_a_nanosecond("operators"), {"sums"}, "analysis_summary.json"),
    "a delta of a group": (move_a_delta("groups"), {"deltas"}, "analysis_summary.json"),
    "a delta of a category": (move_a_delta("categories"), {"deltas"}, "analysis_summary.json"),
    "a total of an operator": (move_a_delta("operators", "candidate_total_ns"), {"deltas"}, "analysis_summary.json"),
    "a row of a timeline gone": (lambda run: rewrite(p := one(run, "_exec_all_runs_timeline.csv"), rows(p)[:-1]), {"timeline"}, "one/toy_cnn_one_t1_exec_all_runs_timeline.csv"),
    "a time in a timeline": (lambda run: change(one(run, "_exec_run0_timeline.csv"), ",Execute,", ",Default,"), {"timeline"}, "one/toy_cnn_one_t1_exec_run0_timeline.csv"),
    "a row of the statistics gone": (lambda run: rewrite(p := one(run, "_exec_ops_stats.csv"), rows(p)[:-1]), {"ops_stats"}, "one/toy_cnn_one_t1_exec_ops_stats.csv"),
    "another CSV with a short row": (lambda run: (run / "one" / "other.csv").write_text("a,b\n1\n"), {"csv"}, "one/other.csv"),
    "a file that was not finished": (lambda run: (run / "report.md.12.0.tmp").write_text("x"), {"finished"}, "report.md.12.0.tmp"),
    "parts that were not merged": (lambda run: (run / "one" / "launches").mkdir(), {"finished"}, "one/launches"),
    "a measurement that was killed": (lambda run: change(run / "manifest.json", '"status": "complete"', '"status": "running"'), {"finished"}, "manifest.json"),
}  # fmt: skip


def test_a_good_run_is_good(run):
    code, (said,) = validate(run)
    assert code == DONE
    assert said == {"run": str(run), "ok": True, "foreign": False, "findings": []}
    done = program.run("validate", run)
    assert done.stdout == f"{run}: all is well\n"


def test_validating_changes_nothing(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    change(run / "manifest.json", '"status": "complete"', '"status": "running"')
    before[run / "manifest.json"] = (run / "manifest.json").read_bytes()
    validate(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("what", DAMAGE)
def test_one_broken_promise_is_one_failure(what, run):
    do, checks, file = DAMAGE[what]
    do(run)
    done = program.run("validate", run)
    assert done.returncode == CHECK_FAILED
    broken = findings(run, "broken")
    assert {finding["check"] for finding in broken} == checks, broken
    assert file in {finding["file"] for finding in broken}
    lines = done.stdout.splitlines()
    assert len(lines) == len(findings(run, "broken")) + len(findings(run, "warning")) + 1
    assert any(line.startswith(f"broken   {file}: ") for line in lines)
    assert lines[-1].startswith(f"{run}: {len(broken)} broken")


def test_every_check_of_the_docs_is_tested():
    table = (program.ROOT / "docs" / "validate.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE))
    source = (program.ROOT / "src" / "validate" / "findings.cc").read_text(encoding="utf-8")
    assert documented == set(re.findall(r'^ +\{"(\w+)",', source, flags=re.MULTILINE))
    tested = set().union(*(checks for _, checks, _ in DAMAGE.values()))
    # The first is tested with trace-enabled runs (tests/measure/test_schedule_end_to_end.py).
    assert documented - tested == {"kernels", "lock", "sha256"}, "these have tests of their own"


@pytest.mark.parametrize("name", test_schemas.WRITTEN)
def test_etprof_validate_says_the_same_as_jsonschema(name, run):
    """The checker that is built in, against an implementation that is not ours."""
    path = run / f"{name}.json"
    document = test_schemas.read(path)
    all_of_them = list(test_schemas.mutations(name, document))
    validator = test_schemas.schema(name)
    for what, spoilt in all_of_them[:: max(1, len(all_of_them) // 12)]:
        path.write_text(json.dumps(spoilt))
        (said,) = json.loads(program.run("validate", run, "--json").stdout)["runs"]
        found = {finding["check"] for finding in said["findings"] if finding["severity"] == "broken"}
        assert (name in found) != validator.is_valid(spoilt), what


def test_a_run_that_is_being_measured_is_not_judged(run):
    (run / "manifest.json").write_text("{")
    with (run / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, (said,) = validate(run)
    assert code == CHECK_FAILED
    assert [finding["check"] for finding in said["findings"]] == ["lock"]


def test_a_model_that_changed_since_is_a_warning(run, tmp_path):
    model = tmp_path / "toy_cnn.pte"
    model.write_bytes(b"another")
    change(run / "manifest.json", json.dumps(str(program.DATA / "toy_cnn.pte")), json.dumps(str(model)), count=-1)
    code, (said,) = validate(run)
    assert code == DONE
    assert [(finding["check"], finding["file"]) for finding in said["findings"]] == [("sha256", str(model))]


def test_an_interrupted_run_is_a_warning(run):
    change(run / "manifest.json", '"status": "complete"', '"status": "interrupted"')
    assert validate(run)[0] == DONE
    assert [finding["check"] for finding in findings(run, "warning")] == ["finished"]


def test_an_interrupted_run_need_not_be_analysed_yet(run):
    change(run / "manifest.json", '"status": "complete"', '"status": "interrupted"')
    missing = ["analysis_summary.json", "pipeline_summary.json", "pipeline_summary.md", "report.md"]
    for name in missing:
        (run / name).unlink()
    for path in run.rglob("*_exec_*.csv"):
        path.unlink()
    assert validate(run)[0] == DONE
    warned = {finding["file"] for finding in findings(run, "warning")}
    assert warned == {"manifest.json", *missing}


def test_several_runs_are_each_judged(run, tmp_path):
    other = Path(shutil.copytree(run, tmp_path / "other"))
    (other / "metrics.json").unlink()
    code, said = validate(run, other)
    assert code == CHECK_FAILED
    assert [result["ok"] for result in said] == [True, False]


def test_a_run_without_timelines_is_good(run):
    assert program.run("analyze", run, "--no-timeline", "--quiet").returncode == DONE
    for path in run.rglob("*_timeline.csv"):
        path.unlink()
    assert validate(run)[0] == DONE


def kit(folder: Path) -> Path:
    """As the seeds' kit leaves it."""
    (folder / "off").mkdir(parents=True)
    shutil.copy(program.DATA / "toy_cnn.t1.etdump", folder / "off" / "net_off_t1.etdump")
    (folder / "off" / "net_off_t1_latency.log").write_text("x\n")
    return folder


def test_foreign_layouts_miss_their_json_with_a_warning(tmp_path):
    folder = kit(tmp_path / "kit")
    code, (said,) = validate(folder)
    assert code == DONE
    assert said["foreign"]
    missing = {"manifest", "metrics", "analysis_summary", "pipeline_summary"}
    assert {finding["check"] for finding in said["findings"]} == missing
    assert {finding["severity"] for finding in said["findings"]} == {"warning"}


def test_a_manifest_of_the_kit_is_not_held_against_our_schema(tmp_path):
    folder = kit(tmp_path / "kit")
    manifest = {
        "generated_at": "x",
        "model": "net.pte",
        "results": [{"experiment": "off", "etdump": "off/gone.etdump"}],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert [(finding["check"], finding["file"]) for finding in findings(folder, "broken")] == [
        ("files", "off/gone.etdump")
    ]


def test_damage_in_a_foreign_layout_is_broken(tmp_path):
    folder = kit(tmp_path / "kit")
    truncate_last_byte(folder / "off" / "net_off_t1.etdump")
    (folder / "off" / "net_off_t1_exec_run0_timeline.csv").write_text("model_id,name\na,b\n")
    assert {finding["check"] for finding in findings(folder, "broken")} == {"etdump", "csv"}


@pytest.mark.parametrize("what", ["nothing", "a file", "an empty folder"])
def test_what_is_no_run_directory_is_bad_input(what, tmp_path):
    path = tmp_path / "x"
    if what == "a file":
        path.write_text("x")
    if what == "an empty folder":
        path.mkdir()
    done = program.run("validate", path)
    assert done.returncode == BAD_INPUT
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
