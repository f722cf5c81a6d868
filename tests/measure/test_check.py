"""All forms of `etprof check`, with scripted workers of known effects, and once with the real runner."""

import csv
import json
import pathlib
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import jsonschema
import program
import pytest
from measure_bench import FAKE_WORKER, MODEL, held_worker, skip
from program import wait_until

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/schema/check.schema.json").read_text())
)
PASS, FAIL, USAGE, BAD_INPUT, DEVICE, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


def pair(bench, factor: float = 1, *, base: dict | None = None, candidate: dict | None = None, **keys) -> pathlib.Path:
    """Writes a configuration of two experiments, the second of which takes `factor` times as long."""
    latency = {"FAKE_LATENCY_NS": str(round(1_000_000 * factor))}
    return bench.write(
        [bench.experiment("base", env=base or {}), bench.experiment("change", env=latency | (candidate or {}))], **keys
    )


def check(bench, *arguments, code: int, **keys) -> dict:
    """Returns the output of `etprof check --json`."""
    result = bench.run("check", *arguments, "--json", **keys)
    assert result.returncode == code, result.stderr + result.stdout
    found = json.loads(result.stdout)
    SCHEMA.validate(found)
    return found


def read_junit(path: pathlib.Path) -> ElementTree.Element:
    """Returns the test suite of a JUnit file, and checks the conventions that its readers rely on."""
    root = ElementTree.parse(path).getroot()  # noqa: S314 (our own file)
    assert root.tag == "testsuites"
    (suite,) = root
    cases = suite.findall("testcase")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names) and all(all(name) for name in names)
    counts = {"tests": len(cases)}
    for attribute, child in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[attribute] = sum(case.find(child) is not None for case in cases)
    for element in (root, suite):
        assert {name: int(element.get(name)) for name in counts} == counts
        assert float(element.get("time")) >= 0
    assert sum(float(case.get("time")) for case in cases) == pytest.approx(float(suite.get("time")), abs=0.01)
    for case in cases:
        assert sum(case.find(child) is not None for child in ("failure", "error", "skipped")) <= 1
    time.strptime(suite.get("timestamp"), "%Y-%m-%dT%H:%M:%S")
    return suite


def edit_manifest(folder: pathlib.Path, change) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def measure_net(bench, name: str, factor: float, factors: str = "1", **keys) -> pathlib.Path:
    """Measures a results directory with one experiment, "net", whose launches take `factors` as long."""
    bench.out = bench.folder / name
    environment = {"FAKE_LATENCY_NS": str(round(1_000_000 * factor)), "FAKE_LAUNCH_FACTORS": factors}
    environment["FAKE_STATE"] = str(bench.folder / f"state_{name}")
    result = bench.run("run", bench.write([bench.experiment("net", env=environment)], launches=3, **keys))
    assert result.returncode == 0, result.stderr
    return bench.out


@pytest.mark.parametrize(
    ("factor", "limit", "code"),
    [
        (1, "2%", PASS),
        (1.01, "2%", PASS),
        (1.01, "0.5%", FAIL),
        (1.1, "2%", FAIL),
        (0.9, "-5%", PASS),
        (1, "-5%", FAIL),
    ],
)
def test_a_configuration(bench, factor, limit, code):
    found = check(bench, pair(bench, factor), f"--max-slowdown={limit}", "--launches", "3", code=code)
    (compared,) = found["pairs"]
    (latency,) = compared["checks"]
    assert compared["name"] == "change against base"
    assert compared["pairing"] == "launches"
    assert compared["launches"] == 3
    assert latency["growth"] == pytest.approx(factor - 1, abs=1e-4)
    assert latency["result"] == ("pass" if code == PASS else "fail")
    assert bench.manifest()["schedule"]["look_confidence"] == 0  # no interim analysis
    assert (bench.out / "report.md").exists()


def test_a_check_ends_at_the_first_certain_interim_analysis(bench):
    live = check(bench, pair(bench, 1.1, max_seconds=600), code=FAIL)  # enough time for ten launches on a slow machine
    assert live["pairs"][0]["launches"] == 10
    assert bench.manifest()["schedule"]["look_confidence"] == pytest.approx(0.9925)
    again = check(bench, bench.out, code=FAIL)
    assert again["pairs"] == live["pairs"]
    check(bench, bench.out, "--max-slowdown", "20%", code=PASS)


def test_a_check_measures_until_all_limits_are_decided(bench):
    # At 10 launches the bound at the level of the interim analysis (0.75%) is beyond the limit. At 14 launches it is not.
    factors = ",".join(["0.9782", "1.0218"] * 5 + ["1"])
    config = pair(bench, candidate={"FAKE_LAUNCH_FACTORS": factors})
    found = check(bench, config, "--watch", "--budget", "500", code=PASS)
    assert found["pairs"][0]["launches"] == 14
    assert sum(launch["status"] == "complete" for launch in bench.result("change")["launches"]) == 14
    for name in ("base", "change"):  # extra runs follow the last interim analysis
        (log,) = (bench.out / name).glob("*.log")
        assert log.read_text().count("# watch: ") == 1


def test_inconclusive_checks(bench):
    config = pair(bench, candidate={"FAKE_LAUNCH_FACTORS": "1.0,1.04,1.0,1.04"})
    junit = bench.folder / "junit.xml"
    summary = bench.folder / "summary.md"
    result = bench.run("check", config, "--launches", "4", "--junit", junit, f"--github-summary={summary}")
    assert result.returncode == INCONCLUSIVE, result.stderr
    assert result.stdout.splitlines()[-1] == "INCONCLUSIVE: 1 of 1 comparison could not be decided"
    (case,) = read_junit(junit).findall("testcase")
    assert "latency" in case.find("skipped").get("message")
    assert "INCONCLUSIVE" in summary.read_text()

    result = bench.run("check", bench.out, "--require-conclusive", "--junit", junit)
    assert result.returncode == FAIL
    (case,) = read_junit(junit).findall("testcase")
    assert case.find("failure").get("type") == "inconclusive"


def test_the_budget_ends_it(bench):
    config = pair(bench, candidate={"FAKE_LAUNCH_FACTORS": ",".join(["1.0", "1.04"] * 80), "FAKE_SLEEP": "0.02"})
    start = time.monotonic()
    check(bench, config, "--budget", "4", code=INCONCLUSIVE)
    assert time.monotonic() - start < 600
    assert bench.manifest()["schedule"]["seconds"] < 60  # 160 launches of 14 bursts alone would sleep for 45 s
    assert sum(launch["status"] == "complete" for launch in bench.result("change")["launches"]) < 160


def test_two_models(bench, monkeypatch):
    for name in ("main.pte", "slow.pte"):
        shutil.copyfile(MODEL, bench.folder / name)
    monkeypatch.setenv("ETPROF_RUNNER", str(FAKE_WORKER))
    monkeypatch.setenv("FAKE_MODEL_FACTORS", '{"slow.pte": 1.1}')
    junit = bench.folder / "reports" / "junit.xml"
    found = check(bench, "main.pte", "slow.pte", "--junit", junit, "--runs", "10", "--launches", "2", code=FAIL)
    assert found["pairs"][0]["name"] == "slow against main"
    assert found["pairs"][0]["checks"][0]["growth"] == pytest.approx(0.1, abs=1e-4)
    (case,) = read_junit(junit).findall("testcase")
    assert "+10.0%" in case.find("failure").get("message")
    assert pathlib.Path(found["run_directory"]).parts[-3] == "out_slow"
    # The options are equivalent, and allow to swap the variants.
    check(bench, "--candidate", "main.pte", "--baseline", "slow.pte", "--runs", "10", "--launches", "2", code=PASS)
    found = check(
        bench, "slow.pte", "--candidate", "model=main.pte,label=mine", "--runs", "10", "--launches", "2", code=PASS
    )
    assert found["pairs"][0]["candidate"] == "mine"
    # Two files of one name are called baseline and candidate.
    (bench.folder / "new").mkdir()
    shutil.copyfile(MODEL, bench.folder / "new" / "main.pte")
    found = check(bench, "main.pte", "new/main.pte", "--runs", "10", "--launches", "2", code=PASS)
    assert found["pairs"][0]["name"] == "candidate against baseline"


def test_equal_variants_are_not_measured(bench, monkeypatch):
    monkeypatch.setenv("ETPROF_RUNNER", str(FAKE_WORKER))
    for name in ("main.pte", "copy.pte"):
        shutil.copyfile(MODEL, bench.folder / name)
    variants = ("main.pte", "copy.pte")
    limits = ("--max-operator-slowdown", "5%", "--max-memory-growth", "0%")
    found = check(bench, *variants, *limits, code=PASS)
    (compared,) = found["pairs"]
    assert (compared["pairing"], compared["launches"], found["run_directory"], found["seconds"]) == ("none", 0, None, 0)
    assert {(item["check"], item["growth"], item["result"]) for item in compared["checks"]} == {
        (name, 0, "pass") for name in ("latency", "operator", "peak memory")
    }
    assert "nothing was measured" in found["notes"][0]
    assert not list(bench.folder.glob("out_*"))
    notes = check(bench, *variants, "--history", "history.sqlite", "--commit", "a", code=PASS)["notes"]
    assert any("nothing was added to the history" in note for note in notes)
    # The limit requires a speedup, so equal variants fail.
    check(bench, *variants, "--max-slowdown=-5%", code=FAIL)
    # With --launches, equal files are measured to show the noise.
    measured = check(bench, *variants, "--launches", "2", "--runs", "4", code=PASS)
    assert measured["pairs"][0]["launches"] == 2
    # Files with different bytes are not equal.
    (bench.folder / "copy.pte").write_bytes((bench.folder / "copy.pte").read_bytes() + b"\0")
    assert check(bench, *variants, "--runs", "4", code=PASS)["pairs"][0]["launches"] == 10


def make_folder(bench, name: str, models: dict[str, bytes]) -> None:
    for model, more in models.items():
        path = bench.folder / name / model
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MODEL.read_bytes() + more)


def test_two_folders_of_models(bench, monkeypatch):
    monkeypatch.setenv("ETPROF_RUNNER", str(FAKE_WORKER))
    monkeypatch.setenv("FAKE_MODEL_FACTORS", '{"change/sub/slow.pte": 1.1}')
    make_folder(bench, "main", {"same.pte": b"", "sub/slow.pte": b"", "other.pte": b"", "gone.pte": b""})
    make_folder(bench, "change", {"same.pte": b"", "sub/slow.pte": b"1", "other.pte": b"1", "new.pte": b""})
    junit = bench.folder / "junit.xml"
    found = check(bench, "main/", "change", "--runs", "10", "--max-seconds", "200", "--junit", junit, code=FAIL)
    results = {one["name"]: (one["result"], one["launches"] > 0) for one in found["pairs"]}
    assert results == {"sub/slow": ("fail", True), "other": ("pass", True), "same": ("pass", False)}
    assert [note for note in found["notes"] if note.startswith("not compared: ")] == [
        "not compared: gone.pte is only in main",
        "not compared: new.pte is only in change",
    ]
    assert pathlib.Path(found["run_directory"]).parts[-3] == "out_change"
    cases = {case.get("name"): case.find("failure") is not None for case in read_junit(junit).findall("testcase")}
    assert cases == {"sub/slow": True, "other": False, "same": False}
    # Equal folders are the same without a measurement.
    shutil.rmtree(bench.folder / "out_change")
    assert check(bench, "main", "main", code=PASS)["seconds"] == 0
    assert not (bench.folder / "out_main").exists()


def test_folders_that_cannot_be_compared(bench):
    make_folder(bench, "main", {"a.pte": b""})
    make_folder(bench, "change", {"b.pte": b""})
    (bench.folder / "empty").mkdir()
    for arguments, message in (
        (("main", "change"), "`main` and `change` have no model of the same name"),
        (("main",), "one folder of models has nothing to be compared with"),
        (("main", "change/b.pte"), "a folder of models cannot be compared with a model"),
        (("main", "empty"), "a folder of models cannot be compared with a results directory"),
    ):
        completed = bench.run("check", *arguments)
        assert completed.returncode in (USAGE, BAD_INPUT)
        assert message in " ".join(completed.stderr.split()).lower()


def test_only_what_differs_is_measured(bench):
    base = bench.experiment("base")
    slow = bench.experiment("slow", env={"FAKE_LATENCY_NS": "1100000"})
    config = bench.write([base, base | {"name": "twin"}, slow], max_seconds=600)
    found = check(bench, config, code=FAIL)
    assert {pair["name"]: (pair["result"], pair["launches"]) for pair in found["pairs"]} == {
        "twin against base": ("pass", 0),
        "slow against base": ("fail", 10),
    }
    assert [one["name"] for one in bench.manifest()["configuration"]["experiments"]] == ["base", "slow"]


def test_model_options_apply_to_both_variants(bench, monkeypatch):
    monkeypatch.setenv("ETPROF_RUNNER", str(FAKE_WORKER))
    shutil.copyfile(MODEL, bench.folder / "main.pte")
    (bench.folder / "x.ptd").write_bytes(b"data")
    options = (
        "--inputs",
        "random",
        "--period",
        "1us",
        "--method",
        "decode",
        "--data",
        "x.ptd",
        "--exec-wrapper",
        "env A=1 'B=2 3'",
    )
    variants = ("main.pte", "--candidate", "threads=2")
    found = check(bench, *variants, *options, "--runs", "4", "--launches", "2", code=PASS)
    manifest = json.loads((pathlib.Path(found["run_directory"]) / "manifest.json").read_text())
    experiments = manifest["configuration"]["experiments"]
    assert len(experiments) == 2
    for experiment in experiments:
        assert experiment["inputs"].startswith("random")
        assert experiment["method"] == "decode"
        assert experiment["period"] == "1us"
        assert experiment["data"] == str(bench.folder / "x.ptd")
        assert experiment["exec_wrapper"] == ["env", "A=1", "B=2 3"]
    for option in (options[i : i + 2] for i in range(0, len(options), 2)):
        for target in (pair(bench), bench.folder / "out_main"):
            result = bench.run("check", target, *option)
            assert result.returncode == USAGE, option
            assert option[0] in result.stderr or "A stored run is not measured" in result.stderr


def test_two_configurations(bench):
    base = pair(bench).rename(bench.folder / "base.json")
    change = pair(bench, 1.1)
    found = check(bench, base, change, "--launches", "2", code=FAIL)
    results = {pair["name"]: pair["result"] for pair in found["pairs"]}
    assert results == {"base": "pass", "change": "fail"}
    other = bench.write([bench.experiment("third")])
    result = bench.run("check", base, other)
    assert result.returncode == BAD_INPUT
    assert "no experiment of the same name" in bench.last_error(result)


def test_experiments_of_one_configuration_only_are_named_and_not_measured(bench):
    base = bench.write([bench.experiment("a", threads=[1, 2]), bench.experiment("b"), bench.experiment("c")])
    base = base.rename(bench.folder / "base.json")
    slow = {"FAKE_LATENCY_NS": "1100000"}
    change = bench.write([bench.experiment("a", env=slow, threads=[1, 3]), bench.experiment("c", env=slow, threads=2)])
    found = check(bench, base, change, "--launches", "2", code=FAIL)
    assert [pair["name"] for pair in found["pairs"]] == ["a"]
    assert [note for note in found["notes"] if note.startswith("not compared: ")] == [
        "not compared: a with 2 threads is only in base.json",
        "not compared: b with 1 thread is only in base.json",
        "not compared: c with 1 thread is only in base.json",
        "not compared: a with 3 threads is only in config.json",
        "not compared: c with 2 threads is only in config.json",
    ]
    assert [(r["experiment"], r["threads"]) for r in bench.manifest()["results"]] == [
        ("baseline_a", 1),
        ("candidate_a", 1),
    ]


def test_memory_and_load_are_checked_when_asked(bench):
    config = pair(bench, candidate={"FAKE_PEAK_RSS": "2200", "FAKE_LOAD_NS": "1050"})
    arguments = (
        "--max-memory-growth",
        "5%",
        "--max-load-slowdown",
        "10%",
        "--max-operator-slowdown",
        "5%",
        "--launches",
        "5",
    )
    found = check(bench, config, *arguments, code=FAIL)
    results = {item["name"]: item["result"] for item in found["pairs"][0]["checks"] if item["check"] != "operator"}
    assert results == {"latency": "pass", "peak memory": "fail", "load": "pass"}
    operators = [item for item in found["pairs"][0]["checks"] if item["check"] == "operator"]
    # Both variants have the same ETDump, in whole microseconds, which do not resolve 5% of short operators.
    assert {item["result"] for item in operators if item["name"].startswith("Convolution")} == {"pass"}
    assert {item["result"] for item in operators} <= {"pass", "inconclusive"}
    check(bench, bench.out, code=PASS)  # without the limits


def test_a_pair_that_cannot_be_measured(bench):
    config = pair(bench, candidate={"FAKE_FAIL": "refuse@load"})
    junit = bench.folder / "junit.xml"
    result = bench.run("check", config, "--launches", "2", "--junit", junit)
    assert result.returncode == DEVICE
    assert "no such operator" in bench.last_error(result)
    (case,) = read_junit(junit).findall("testcase")
    assert "no such operator" in case.find("error").get("message")
    # --require-conclusive does not turn the error into a failed check.
    again = bench.run("check", bench.out, "--require-conclusive")
    assert again.returncode == DEVICE
    assert again.stdout.splitlines()[-1] == "ERROR: 1 of 1 comparison could not be measured"


def test_github_summary(bench, monkeypatch):
    summary = bench.folder / "step.md"
    summary.write_text("before\n")
    config = pair(bench, 1.1)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert bench.run("check", config, "--launches", "2", "--github-summary").returncode == FAIL
    text = summary.read_text()
    assert text.startswith("before\n## etprof check")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert "### change against base\n" in text
    assert len(rows) == 3 and "latency" in rows[2] and "FAIL" in rows[2]
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    result = bench.run("check", config, "--github-summary")
    assert result.returncode == USAGE
    assert "GITHUB_STEP_SUMMARY, which is not set" in bench.last_error(result)


def test_the_checks_as_csv(bench):
    config = pair(bench, 1.1)
    result = bench.run("check", config, "--launches", "2", "--csv", "checks")
    assert result.returncode == FAIL, result.stderr
    (row,) = csv.DictReader(result.stdout.splitlines())
    assert (row["pair"], row["check"], row["result"]) == ("change against base", "latency", "FAIL")
    assert (row["baseline_unit"], float(row["change"])) == ("ms", pytest.approx(0.1, abs=1e-4))
    # The error is reported before the measurement starts.
    assert bench.run("check", config, "--csv", "nothing").returncode == USAGE


def test_two_stored_runs(bench):
    base = measure_net(bench, "base", 1)
    slow = measure_net(bench, "slow", 1.1)
    found = check(bench, base, slow, code=FAIL)
    (compared,) = found["pairs"]
    assert compared["pairing"] == "unpaired"
    assert compared["checks"][0]["growth"] == pytest.approx(0.1, abs=1e-4)
    assert any("two sessions" in note and "drift" in note for note in found["notes"])
    # Changes below the drift of the machine are inconclusive, unless --drift declares that there is none.
    inconclusive = check(bench, base, base, code=INCONCLUSIVE)
    assert "--drift" in inconclusive["pairs"][0]["checks"][0]["why_not"]
    check(bench, base, base, "--drift", "0%", code=PASS)
    check(bench, base, base, "--max-slowdown", "10%", code=PASS)
    # Where launches differ by more than the drift, the drift is not the reason.
    noisy = measure_net(bench, "noisy", 1, factors="1,1,1.2,1")
    inconclusive = check(bench, noisy, noisy, "--drift", "0.1%", code=INCONCLUSIVE)
    assert "launches differ by too much" in inconclusive["pairs"][0]["checks"][0]["why_not"]
    assert "--drift" in bench.last_error(bench.run("check", pair(bench, 1), "--drift", "1%"))
    # The variants of a single run were measured together.
    for option in (["--drift", "1%"], ["--allow-mismatch", "device"]):
        assert option[0] in bench.last_error(bench.run("check", base, *option))
    assert bench.run("check", base, slow, "--watch").returncode == USAGE


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("model", lambda m: m["results"][0].update(model="/models/another_xnnpack_fp32.pte")),
        ("device", lambda m: m["device"].update(cpu_model="another")),
        ("runner", lambda m: m["results"][0].update(runner_sha256="0" * 64)),
        ("isa", lambda m: m["results"][0].update(isa="-avx2")),
        ("threads", lambda m: m["results"][0].update(threads=2)),
        ("cpus", lambda m: m["results"][0].update(cpus="0")),
        ("power", lambda m: m["device"].update(power_mode="on battery")),
    ],
)
def test_stored_runs_that_differ_are_refused_and_can_be_accepted(bench, name, change):
    base = measure_net(bench, "base", 1)
    other = bench.folder / "other"
    shutil.copytree(base, other)
    edit_manifest(other, change)
    result = bench.run("check", base, other)
    assert result.returncode == BAD_INPUT
    assert f"they differ in {name} (" in bench.last_error(result)
    assert f"--allow-mismatch {name}" in bench.last_error(result)
    found = check(bench, base, other, "--allow-mismatch", name, "--drift", "0%", code=PASS)
    assert any(note.startswith(f"accepted: the two runs differ in {name}") for note in found["notes"])
    wrong = "device" if name != "device" else "runner"
    assert bench.run("check", base, other, "--allow-mismatch", wrong).returncode == BAD_INPUT


def test_sustained_experiments_are_not_compared(bench):
    config = pair(bench, 1.5, sustained="1s", peaks=False)
    refused = bench.run("check", config)
    assert refused.returncode == BAD_INPUT and "has `sustained`" in bench.last_error(refused)
    assert not bench.out.exists()
    assert bench.run("run", config).returncode == PASS
    for runs in ((bench.out,), (bench.out, bench.out)):
        stored = bench.run("check", *runs)
        assert stored.returncode == BAD_INPUT and "is a sustained run" in bench.last_error(stored)


def test_conditions_that_no_run_has_need_acceptance(bench):
    base = measure_net(bench, "base", 1)

    def forget(manifest):
        del manifest["device"]

    edit_manifest(base, forget)
    result = bench.run("check", base, base)
    assert result.returncode == BAD_INPUT
    assert "cannot be compared: neither says its device hint: " in bench.last_error(result)
    found = check(bench, base, base, "--allow-mismatch", "device", "--drift", "0%", code=PASS)
    assert "accepted: neither run says its device" in found["notes"]


def test_invalid_checks_have_one_message(bench):
    run = measure_net(bench, "base", 1)
    config = pair(bench)

    def refused(*arguments, code=USAGE) -> str:
        result = bench.run("check", *arguments)
        assert result.returncode == code, result.stdout + result.stderr
        assert result.stdout == ""
        return program.one_error(result.stderr)

    assert "Nothing to check" in refused()
    assert "One model has nothing to be compared with" in refused(MODEL)
    assert "A model cannot be compared with a results directory" in refused(MODEL, run)
    assert "not a percentage" in refused(config, "--max-slowdown", "0.02")
    assert "not a percentage" in refused(config, "--max-slowdown", "fast%")
    assert "from 0% to 100%" in refused(config, "--min-operator-share", "150%")
    assert "is for two stored runs" in refused(config, "--allow-mismatch", "runner")
    assert "speed" in refused(run, run, "--allow-mismatch", "speed")
    assert "not measured again" in refused(run, run, "--launches", "3")
    assert "is a third input" in refused(MODEL, MODEL, "--candidate", MODEL)
    assert "no such file" in refused(MODEL, bench.folder / "none.pte", code=BAD_INPUT)
    # Equal variants are not measured, but a pair that could not be measured does not pass.
    assert "has no method `nowhere`" in refused(MODEL, MODEL, "--method", "nowhere", code=BAD_INPUT)
    (bench.folder / "cut.pte").write_bytes(MODEL.read_bytes()[:1000])
    assert "is cut short: 1000 of" in refused("cut.pte", "cut.pte", code=BAD_INPUT)
    assert "none of the CPUs" in refused(MODEL, MODEL, "--cpus", "1023", code=BAD_INPUT)
    for variant, more in (("old", b""), ("new", b"\0")):  # also if another pair is measured
        make_folder(bench, variant, {"net.pte": more})
        shutil.copyfile(bench.folder / "cut.pte", bench.folder / variant / "cut.pte")
    assert "is cut short: 1000 of" in refused("old", "new", code=BAD_INPUT)
    assert "no pair" in refused(run, code=BAD_INPUT)
    assert "no pair" in refused(bench.write([bench.experiment("alone")]), code=BAD_INPUT)


def test_ctrl_c_and_resume(bench):
    with held_worker(bench) as hold:
        config = pair(bench, base=hold, max_seconds=600)
        process = bench.start("check", config)
        wait_until(lambda: (bench.out / "manifest.json").exists() and len(bench.result("base")["launches"]) >= 2)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=240)
    assert process.returncode == INTERRUPTED
    assert "  Resume:  the same command with --resume" in error
    before = bench.result("base")["launches"]
    found = check(bench, config, "--resume", code=PASS)
    assert bench.result("base")["launches"][: len(before)] == before
    assert found["pairs"][0]["launches"] >= 10


def test_a_disk_that_cannot_be_written(bench):
    if not pathlib.Path("/dev/full").exists():
        skip("this machine has no /dev/full")
    result = bench.run("check", pair(bench), "--launches", "2", "--github-summary=/dev/full")
    assert result.returncode == DEVICE
    assert "cannot be written" in bench.last_error(result)


def test_the_real_runner_finds_what_a_mask_costs(etprof, runner, tmp_path):
    isa = json.loads(subprocess.run([etprof, "isa", "--json"], check=True, capture_output=True, text=True).stdout)
    if isa["widest"] is None:
        pytest.skip("this CPU has nothing but its architecture's baseline")
    junit = tmp_path / "junit.xml"
    arguments = ["--runner", runner, "--budget", "60", "--output-root", tmp_path / "out", "--junit", junit, "--json"]
    result = subprocess.run(
        [etprof, "check", MODEL, "--candidate", "isa=none", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode in (FAIL, INCONCLUSIVE), result.stderr
    check = json.loads(result.stdout)
    (only,) = check["pairs"]
    if result.returncode == INCONCLUSIVE:  # next to the processes of other tests
        assert only["checks"][0]["result"] not in ("pass", "fail")
        return
    assert only["checks"][0]["growth_low"] > 0.02
    moved = only["moved_operators"]
    if any("it is not known which operators changed" in note for note in check["notes"]):
        assert moved == []  # next to the processes of other tests
        return
    assert any("Convolution" in op["name"] and op["growth_low"] > 0 for op in moved)
    (case,) = read_junit(junit).findall("testcase")
    assert moved[0]["name"] in case.find("failure").text
