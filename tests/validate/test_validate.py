"""`etprof validate` names each broken property of a results directory, and no others."""

import csv
import fcntl
import itertools
import json
import re
import shutil
from pathlib import Path

import program
import pytest
import test_schemas
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc

OK, CHECK_FAILED, BAD_INPUT = 0, 1, 3


def validate(*runs: Path) -> tuple[int, list[dict]]:
    completed = program.run("validate", *runs, "--json")
    assert completed.stderr == ""
    return completed.returncode, json.loads(completed.stdout)["runs"]


def findings(run: Path, severity: str) -> list[dict]:
    _, (validated,) = validate(run)
    return [finding for finding in validated["findings"] if finding["severity"] == severity]


def change(path: Path, old: str, new: str, count: int = 1) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")


def edit(path: Path, apply) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    apply(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def rewrite(path: Path, lines: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def experiment_file(run: Path, suffix: str) -> Path:
    return run / "one" / f"toy_cnn_one_t1{suffix}"


def drop_a_latency(run: Path) -> None:
    lines = rows(experiment_file(run, "_latency.csv"))
    rewrite(experiment_file(run, "_latency.csv"), lines[:-1])


def spoil_a_latency(run: Path) -> None:
    # A latency that the manifest summarizes, because disturbed bursts may not count.
    (result,) = [r for r in json.loads((run / "manifest.json").read_text())["results"] if r["experiment"] == "one"]
    least = str(round(result["min_ms"] * 1e6))
    lines = rows(experiment_file(run, "_latency.csv"))
    row = next(line for line in lines if line[4] == "recorded" and line[6] == least)
    row[6] = str(int(row[6]) * 1000)
    rewrite(experiment_file(run, "_latency.csv"), lines)


def add_runs_to_the_manifest(run: Path) -> None:
    def damage(manifest: dict) -> None:
        manifest["results"][0]["etdump_runs"][0]["runs"] += 1

    edit(run / "manifest.json", damage)


def truncate_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def add_a_nanosecond(table: str):
    def apply(run: Path) -> None:
        def damage(summary: dict) -> None:
            table_or_rows = summary["experiments"][0][table]
            (table_or_rows if table == "operators" else table_or_rows["rows"])[0]["total_ns"] += 1

        edit(run / "analysis_summary.json", damage)

    return apply


def move_a_delta(table: str, key: str = "delta_numerator_ns"):
    def apply(run: Path) -> None:
        def damage(summary: dict) -> None:
            summary["comparisons"][0][table][0][key] += 1

        edit(run / "analysis_summary.json", damage)

    return apply


def lengthen_each_operator(run: Path) -> None:
    """Replaces an ETDump by another with the same runs and operators and other times, as from another measurement."""
    dump = deserialize_from_etdump_flatcc(experiment_file(run, ".etdump").read_bytes())
    for block in dump.run_data:
        for event in block.events:
            if event.profile_event is not None:
                event.profile_event.end_time += 10
    experiment_file(run, ".etdump").write_bytes(serialize_to_etdump_flatcc(dump))


def metrics_of_another_run(run: Path) -> None:
    def damage(metrics: dict) -> None:
        metrics["results"][1]["runs"] += 1

    edit(run / "metrics.json", damage)


def forget_an_experiment(run: Path) -> None:
    edit(run / "analysis_summary.json", lambda summary: summary["experiments"].pop())


def set_value(file: str, *path: str | int, to):
    """Changes the value at a place of a JSON file."""

    def apply(run: Path) -> None:
        def damage(document) -> None:
            for key in path[:-1]:
                document = document[key]
            assert document[path[-1]] != to
            document[path[-1]] = to

        edit(run / file, damage)

    return apply


def set_summary_value(*path: str | int, to):
    return set_value("analysis_summary.json", *path, to=to)


def change_field(suffix: str, column: str, to: str = "12345"):
    """Changes a cell in the first row of a table of experiment "one"."""

    def apply(run: Path) -> None:
        lines = rows(experiment_file(run, suffix))
        assert lines[1][lines[0].index(column)] != to
        lines[1][lines[0].index(column)] = to
        rewrite(experiment_file(run, suffix), lines)

    return apply


def change_number(file: str):
    """Changes the last digit of the first fraction in a text."""

    def apply(run: Path) -> None:
        (path,) = run.glob(file)
        text = path.read_text(encoding="utf-8")
        digit = re.search(r"\d\.\d", text).end() - 1
        path.write_text(text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :], encoding="utf-8")

    return apply


def change_verdict(file: str, *path: str | int):
    def apply(run: Path) -> None:
        (name,) = run.glob(file)

        def damage(document) -> None:
            for key in path:
                document = document[key]
            document["verdict"] = "slower" if document["verdict"] == "faster" else "faster"

        edit(name, damage)

    return apply


def move_between_groups(run: Path) -> None:
    def damage(summary: dict) -> None:
        first, second = summary["experiments"][0]["groups"]["rows"][:2]
        first["total_ns"] += 1000
        second["total_ns"] -= 1000

    edit(run / "analysis_summary.json", damage)


def add_busy_time(run: Path) -> None:
    def damage(watch: dict) -> None:
        watch["operators"][0]["threads"][0]["busy_ns"] += 1

    edit(experiment_file(run, "_watch.json"), damage)


def truncate_page(run: Path) -> None:
    page = run / "report.html"
    page.write_bytes(page.read_bytes()[:-30_000])


# A made-up finding, because the findings of a run depend on the load of the machine.
FINDING = {"kind": "portable", "text": "x", "at_stake_ms": 1.0, "experiment": "one", "evidence": [], "formula": "x"}

# The damage, the checks that must fail, and the file that must be named.
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
    "watched times that do not add up": (add_busy_time, {"watch"}, "one/toy_cnn_one_t1_watch.json"),
    "report missing": (lambda run: (run / "report.md").unlink(), {"files"}, "report.md"),
    "configuration missing": (lambda run: (run / "config.json").unlink(), {"files"}, "config.json"),
    "latencies missing": (lambda run: experiment_file(run, "_latency.csv").unlink(), {"files"}, "one/toy_cnn_one_t1_latency.csv"),
    "timeline missing": (lambda run: experiment_file(run, "_exec_run0_timeline.csv").unlink(), {"files"}, "one/toy_cnn_one_t1_exec_run0_timeline.csv"),
    "ETDump missing": (lambda run: experiment_file(run, ".etdump").unlink(), {"files"}, "one/toy_cnn_one_t1.etdump"),
    "ETDump empty": (lambda run: experiment_file(run, ".etdump").write_bytes(b""), {"files"}, "one/toy_cnn_one_t1.etdump"),
    "ETDump cut": (lambda run: truncate_last_byte(experiment_file(run, ".etdump")), {"etdump"}, "one/toy_cnn_one_t1.etdump"),
    "ETDump of another experiment": (lengthen_each_operator, {"timeline", "ops_stats", "analysis_summary", "derived"}, "one/toy_cnn_one_t1_exec_ops_stats.csv"),
    "runs that the ETDump has not": (add_runs_to_the_manifest, {"run_counts"}, "one/toy_cnn_one_t1.etdump"),
    "latencies with other columns": (lambda run: change(experiment_file(run, "_latency.csv"), "latency_ns", "latency_us"), {"latency_csv"}, "one/toy_cnn_one_t1_latency.csv"),
    "a latency that is no number": (lambda run: change(experiment_file(run, "_latency.csv"), "0,,,0,first,1,", "0,,,0,first,1,-"), {"latency_csv"}, "one/toy_cnn_one_t1_latency.csv"),
    "latencies cut": (lambda run: truncate_last_byte(experiment_file(run, "_latency.csv")), {"latency_csv"}, "one/toy_cnn_one_t1_latency.csv"),
    "a latency gone": (drop_a_latency, {"latency_counts"}, "one/toy_cnn_one_t1_latency.csv"),
    "a latency changed": (spoil_a_latency, {"latency_values"}, "one/toy_cnn_one_t1_latency.csv"),
    "a group that does not add up": (add_a_nanosecond("groups"), {"sums"}, "analysis_summary.json"),
    "a category that does not add up": (add_a_nanosecond("categories"), {"sums"}, "analysis_summary.json"),
    "a place that does not add up": (add_a_nanosecond("places"), {"sums"}, "analysis_summary.json"),
    "an operator that does not add up": (add_a_nanosecond("operators"), {"sums"}, "analysis_summary.json"),
    "a delta of a group": (move_a_delta("groups"), {"deltas"}, "analysis_summary.json"),
    "a delta of a category": (move_a_delta("categories"), {"deltas"}, "analysis_summary.json"),
    "a total of an operator": (move_a_delta("operators", "candidate_total_ns"), {"deltas"}, "analysis_summary.json"),
    "a row of a timeline gone": (lambda run: rewrite(p := experiment_file(run, "_exec_all_runs_timeline.csv"), rows(p)[:-1]), {"timeline"}, "one/toy_cnn_one_t1_exec_all_runs_timeline.csv"),
    "a time in a timeline": (lambda run: change(experiment_file(run, "_exec_run0_timeline.csv"), ",Execute,", ",Default,"), {"timeline"}, "one/toy_cnn_one_t1_exec_run0_timeline.csv"),
    "a row of the statistics gone": (lambda run: rewrite(p := experiment_file(run, "_exec_ops_stats.csv"), rows(p)[:-1]), {"ops_stats"}, "one/toy_cnn_one_t1_exec_ops_stats.csv"),
    "configuration that is no JSON": (lambda run: (run / "config.json").write_text('{"model": 3'), {"config"}, "config.json"),
    "configuration that is no object": (lambda run: (run / "config.json").write_text("[]"), {"config"}, "config.json"),
    "page cut": (truncate_page, {"derived"}, "report.html"),
    "page missing": (lambda run: (run / "report.html").unlink(), {"files"}, "report.html"),
    "statistics missing": (lambda run: experiment_file(run, "_robust_stats.json").unlink(), {"files"}, "one/toy_cnn_one_t1_robust_stats.json"),
    "a number of the report": (change_number("report.md"), {"derived"}, "report.md"),
    "a number of the summary for people": (change_number("pipeline_summary.md"), {"derived"}, "pipeline_summary.md"),
    "a latency table's median": (change_field("_e2e_latency.csv", "latency_median_ms"), {"derived"}, "one/toy_cnn_one_t1_e2e_latency.csv"),
    "a latency table's memory": (change_field("_e2e_latency.csv", "peak_rss_bytes"), {"derived"}, "one/toy_cnn_one_t1_e2e_latency.csv"),
    "a category's share": (change_field("_category_summary.csv", "pct_of_e2e"), {"derived"}, "one/toy_cnn_one_t1_category_summary.csv"),
    "an operator's total": (change_field("_operator_details.csv", "total_ms"), {"derived"}, "one/toy_cnn_one_t1_operator_details.csv"),
    "a median of the robust statistics": (change_number("one/toy_cnn_one_t1_robust_stats.json"), {"derived"}, "one/toy_cnn_one_t1_robust_stats.json"),
    "a comparison's verdict in the summary": (change_verdict("pipeline_summary.json", "comparisons", 0), {"pipeline_summary"}, "pipeline_summary.json"),
    "a comparison's verdict in the kit's summary": (change_verdict("toy_cnn_pipeline_summary.json", "comparisons", 0), {"derived"}, "toy_cnn_pipeline_summary.json"),
    "a latency's p99": (set_summary_value("experiments", 0, "latency_ms", "p99", to=0.5), {"analysis_summary"}, "analysis_summary.json"),
    # On a busy machine there may be no interval.
    "a latency's interval": (set_summary_value("experiments", 0, "latency_interval_ms", to={"low": 0.1, "high": 9.0, "confidence": 0.95, "launches": 2}), {"analysis_summary"}, "analysis_summary.json"),
    "a histogram": (set_summary_value("experiments", 0, "latency_histogram", "counts", 0, to=7777), {"analysis_summary"}, "analysis_summary.json"),
    "a ratio": (set_summary_value("comparisons", 0, "latency", "ratio", to=3.0), {"analysis_summary"}, "analysis_summary.json"),
    "a verdict": (change_verdict("analysis_summary.json", "comparisons", 0, "latency"), {"analysis_summary"}, "analysis_summary.json"),
    "an operator's verdict": (change_verdict("analysis_summary.json", "comparisons", 0, "operators", 0), {"analysis_summary"}, "analysis_summary.json"),
    "an operator's time": (set_summary_value("comparisons", 0, "operators", 0, "baseline_ms", to=99.0), {"analysis_summary"}, "analysis_summary.json"),
    "a first run": (set_summary_value("experiments", 0, "first_run_ms", to=99.0), {"analysis_summary"}, "analysis_summary.json"),
    "the noise floor": (set_summary_value("noise_floor", to=0.00001), {"analysis_summary"}, "analysis_summary.json"),
    "other findings": (set_summary_value("insights", to=[FINDING]), {"analysis_summary"}, "analysis_summary.json"),
    "time moved between groups": (move_between_groups, {"analysis_summary"}, "analysis_summary.json"),
    "another model's name": (set_summary_value("model_id", to="other"), {"analysis_summary"}, "analysis_summary.json"),
    "another CSV with a short row": (lambda run: (run / "one" / "other.csv").write_text("a,b\n1\n"), {"csv"}, "one/other.csv"),
    "a file that was not finished": (lambda run: (run / "report.md.12.0.tmp").write_text("x"), {"finished"}, "report.md.12.0.tmp"),
    "parts that were not merged": (lambda run: (run / "one" / "launches").mkdir() or (run / "one" / "launches" / "x").touch(), {"finished"}, "one/launches"),
    "a folder instead of the page": (lambda run: (run / "report.html").unlink() or (run / "report.html").mkdir(), {"files"}, "report.html"),
    "a measurement that was killed": (lambda run: change(run / "manifest.json", '"status": "complete"', '"status": "running"'), {"finished"}, "manifest.json"),
}  # fmt: skip


# Checks that also fail if threads of the measurement waited for a CPU: the error of the latency ratio, and thus the
# p-value of the summary, then depends on the times of the operators.
CHECKS_OF_WAITING_THREADS = {"ETDump of another experiment": {"pipeline_summary"}}


def test_a_good_run_is_good(run):
    code, (validated,) = validate(run)
    assert code == OK
    assert validated == {"run": str(run), "ok": True, "foreign": False, "findings": []}
    completed = program.run("validate", run)
    assert completed.stdout.split() == ["etprof", "validate", f"{run}:", "all", "is", "well"]


@pytest.mark.parametrize("title", [None, 'a & b "on" <off>'])
def test_a_report_written_again_is_good(run, title):
    """A report with another heading, which is not a number, is good. A changed number below it is reported."""
    assert program.run("report", run, *(["--title", title] if title else [])).returncode == OK
    assert validate(run)[0] == OK
    report = run / "report.md"
    lines = report.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if i > 0 and re.search(r"\d", line))
    lines[at] = re.sub(r"\d", "x", lines[at], count=1)
    report.write_text("".join(lines), encoding="utf-8")
    assert [finding["check"] for finding in findings(run, "broken")] == ["derived"]


def test_latencies_of_a_version_before_waits_are_read(run):
    """The counts are still compared. Values that depend on waiting times may differ."""
    path = experiment_file(run, "_latency.csv")
    rewrite(path, [line[:7] for line in rows(path)])
    assert not {"latency_csv", "latency_counts"} & {finding["check"] for finding in findings(run, "broken")}
    drop_a_latency(run)
    assert "latency_counts" in {finding["check"] for finding in findings(run, "broken")}


def test_validating_changes_nothing(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    change(run / "manifest.json", '"status": "complete"', '"status": "running"')
    before[run / "manifest.json"] = (run / "manifest.json").read_bytes()
    validate(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("damage", DAMAGE)
def test_each_damage_fails_its_checks(damage, run):
    apply, checks, file = DAMAGE[damage]
    apply(run)
    completed = program.run("validate", run)
    assert completed.returncode == CHECK_FAILED
    broken = findings(run, "broken")
    assert {finding["check"] for finding in broken} - CHECKS_OF_WAITING_THREADS.get(damage, set()) == checks, broken
    assert file in {finding["file"] for finding in broken}
    assert f"{run}: {len(broken)} broken" in " ".join(completed.stdout.split())
    table = program.run("validate", run, "--csv", "findings")
    assert table.returncode == CHECK_FAILED
    rows = list(csv.DictReader(table.stdout.splitlines()))
    assert {row["results"] for row in rows} == {str(run)}
    reported = [{key: row[key] for key in ("severity", "check", "file", "problem")} for row in rows]
    assert reported == validate(run)[1][0]["findings"]


def test_a_log_for_people_is_no_input(run):
    """A log is optional, since a full disk can prevent it."""
    experiment_file(run, ".log").write_text("")
    assert program.run("validate", run).returncode == OK
    (warning,) = findings(run, "warning")
    assert (warning["check"], warning["file"]) == ("files", "one/toy_cnn_one_t1.log")


def test_every_check_of_the_docs_is_tested():
    page = (program.ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    section = page.split("## `etprof validate`\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    source = (program.ROOT / "src" / "validate" / "findings.h").read_text(encoding="utf-8")
    assert documented == set(re.findall(r'"(\w+)"', source.partition("kChecks[] = {")[2].partition("}")[0]))
    tested = set().union(*(checks for _, checks, _ in DAMAGE.values()))
    # The first is tested with kernel-log runs (tests/measure/test_schedule_end_to_end.py).
    assert documented - tested == {"kernels", "lock", "sha256"}, "these have tests of their own"


@pytest.mark.parametrize("name", test_schemas.RUN_DOCUMENTS)
def test_etprof_validate_says_the_same_as_jsonschema(name, run):
    """Compares the built-in schema checker with an independent implementation."""
    path = run / f"{name}.json"
    document = test_schemas.read(path)
    count = sum(1 for _ in test_schemas.mutations(name, document))
    validator = test_schemas.schema(name)
    for mutation in itertools.islice(test_schemas.mutations(name, document), 0, None, max(1, count // 12)):
        path.write_text(json.dumps(document))
        (validated,) = json.loads(program.run("validate", run, "--json").stdout)["runs"]
        found = {finding["check"] for finding in validated["findings"] if finding["severity"] == "broken"}
        assert (name in found) != validator.is_valid(document), mutation


def test_a_running_measurement_fails_only_the_lock_check(run):
    (run / "manifest.json").write_text("{")
    with (run / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, (validated,) = validate(run)
    assert code == CHECK_FAILED
    assert [finding["check"] for finding in validated["findings"]] == ["lock"]


def test_a_model_that_changed_since_is_a_warning(run, tmp_path):
    model = tmp_path / "toy_cnn.pte"
    model.write_bytes(b"another")
    change(run / "manifest.json", json.dumps(str(program.DATA / "toy_cnn.pte")), json.dumps(str(model)), count=-1)
    code, (validated,) = validate(run)
    assert code == OK
    assert [(finding["check"], finding["file"]) for finding in validated["findings"]] == [
        ("derived", "analysis_summary.json"),  # the file contains the layers of the model
        ("sha256", str(model)),
    ]
    assert f"{model} is not the file that was measured" in validated["findings"][0]["problem"]


def test_an_interrupted_run_is_a_warning(run):
    change(run / "manifest.json", '"status": "complete"', '"status": "interrupted"')
    assert program.run("analyze", run, "--quiet").returncode == OK
    assert validate(run)[0] == OK
    assert [finding["check"] for finding in findings(run, "warning")] == ["finished"]


def test_an_interrupted_run_may_have_an_older_analysis(run):
    """The run was analyzed, resumed, and interrupted again."""
    change(run / "manifest.json", '"status": "complete"', '"status": "interrupted"')
    assert validate(run)[0] == OK
    warned = {finding["file"]: finding["problem"] for finding in findings(run, "warning")}
    assert 'is "complete", the data give "interrupted"; ' in warned["analysis_summary.json"]
    assert "etprof analyze" in warned["report.md"]


def test_a_message_names_the_place_and_both_values(run):
    summary = json.loads((run / "analysis_summary.json").read_text())
    measured = summary["experiments"][1]["latency_ms"]["p99"]
    set_summary_value("experiments", 1, "latency_ms", "p99", to=0.5)(run)
    change_field("_operator_details.csv", "total_ms")(run)
    validated = {finding["file"]: finding["problem"] for finding in findings(run, "broken")}
    assert validated["analysis_summary.json"] == (
        f"experiments[1].latency_ms.p99 is 0.5, the data give {measured}; `etprof analyze` renews it"
    )
    table = validated["one/toy_cnn_one_t1_operator_details.csv"]
    assert re.match(r'row 1 \(.+\), column total_ms, is "12345", the data give "[0-9.]+"; ', table), table


def test_an_analysis_of_another_version_is_a_warning(run):
    version = json.loads((run / "manifest.json").read_text())["etprof_version"]
    change(run / "manifest.json", f'"etprof_version": "{version}"', '"etprof_version": "0.0.1"')
    change_field("_category_summary.csv", "pct_of_e2e")(run)
    assert validate(run)[0] == OK
    warned = {finding["file"]: finding["problem"] for finding in findings(run, "warning")}
    assert "measured by etprof 0.0.1" in warned["one/toy_cnn_one_t1_category_summary.csv"]
    assert "`etprof analyze` renews it" in warned["one/toy_cnn_one_t1_category_summary.csv"]


def test_an_interrupted_run_need_not_be_analyzed_yet(run):
    change(run / "manifest.json", '"status": "complete"', '"status": "interrupted"')
    missing = ["analysis_summary.json", "pipeline_summary.json", "pipeline_summary.md", "report.md"]
    for name in missing:
        (run / name).unlink()
    for path in run.rglob("*_exec_*.csv"):
        path.unlink()
    assert validate(run)[0] == OK
    warned = {finding["file"] for finding in findings(run, "warning")}
    assert warned == {"manifest.json", *missing}


def test_several_runs_are_validated_separately(run, tmp_path):
    other = Path(shutil.copytree(run, tmp_path / "other"))
    (other / "metrics.json").unlink()
    code, validated = validate(run, other)
    assert code == CHECK_FAILED
    assert [result["ok"] for result in validated] == [True, False]


def test_a_run_without_timelines_is_good(run):
    assert program.run("analyze", run, "--no-timeline", "--quiet").returncode == OK
    for path in run.rglob("*_timeline.csv"):
        path.unlink()
    assert validate(run)[0] == OK


def kit(folder: Path) -> Path:
    """A results directory as the profiling kit writes it."""
    (folder / "off").mkdir(parents=True)
    shutil.copy(program.DATA / "toy_cnn.t1.etdump", folder / "off" / "net_off_t1.etdump")
    (folder / "off" / "net_off_t1_latency.log").write_text("x\n")
    return folder


def test_foreign_layouts_miss_their_json_with_a_warning(tmp_path):
    folder = kit(tmp_path / "kit")
    code, (validated,) = validate(folder)
    assert code == OK
    assert validated["foreign"]
    missing = {"manifest", "metrics", "analysis_summary", "pipeline_summary"}
    assert {finding["check"] for finding in validated["findings"]} == missing
    assert {finding["severity"] for finding in validated["findings"]} == {"warning"}


def test_a_manifest_of_the_kit_is_not_compared_with_the_schema(tmp_path):
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
    broken = findings(folder, "broken")
    assert {finding["check"] for finding in broken} == {"etdump", "csv"}
    assert not any(str(folder) in finding["problem"] for finding in broken)  # findings name the file separately


@pytest.mark.parametrize("kind", ["nothing", "a file", "an empty folder"])
def test_other_paths_than_results_directories_are_bad_input(kind, tmp_path):
    path = tmp_path / "x"
    if kind == "a file":
        path.write_text("x")
    if kind == "an empty folder":
        path.mkdir()
    completed = program.run("validate", path)
    assert completed.returncode == BAD_INPUT
    assert completed.stdout == ""
    assert program.one_error(completed.stderr)
