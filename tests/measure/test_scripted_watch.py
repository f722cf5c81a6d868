"""`--watch` with the scripted worker: a CPU with a shared matrix unit, and runners that do not support it."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from measure_bench import FAKE_RUNNER


def warnings(bench, name: str) -> list[str]:
    return [w for w in bench.result(name)["warnings"] if w.startswith("watch: ")]


def measured(bench, **env: str):
    completed = bench.run("run", bench.write([bench.experiment("a", env=env)], launches=2), "--watch", "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    return bench.run("analyze", bench.out, "--by", "threads").stdout


def test_a_shared_unit_is_named(bench):
    assert "probably one shared matrix unit" in " ".join(measured(bench).split())
    proven = bench.run("analyze", bench.out, "--by", "proven", "--all").stdout
    assert "SME" in proven
    kernels = json.loads(bench.run("kernels", bench.out, "--json").stdout)
    assert "kai_run_matmul_clamp_f32" in bench.run("analyze", bench.out, "--csv=proven").stdout
    ((row,),) = [watched["operators"] for watched in kernels["watched"]]
    assert (row["code"], row["kleidiai"], row["threads"]["cause"]) == ("SME", True, "shared_unit")
    assert row["threads"]["speedup_over_one"] == 0.9
    report = (bench.out / "report.md").read_text()
    assert "Proven kernels: a" in report and "Threads: a" in report
    assert bench.run("validate", bench.out).returncode == 0


def test_contended_runs_have_no_reason(bench):
    text = " ".join(measured(bench, FAKE_WATCH_CONTENDED="1").split())
    assert "no cause is named" in text and "shared" not in text


def test_operators_have_the_reason_why_threads_do_not_help(bench):
    env = {"FAKE_WATCH_ORDINAL": "2"}  # this operator has the same time in all runs of the ETDump
    config = bench.write([bench.experiment("a", threads=[1, 2], env=env)], launches=4)
    assert bench.run("run", config, "--watch", "--no-peaks").returncode == 0
    text = " ".join((bench.out / "report.md").read_text().split())
    assert "as fast with 2 threads as with 1 (tasks wait for each other: probably one shared matrix unit)" in text


def test_memory_growth_is_reported(bench):
    pair = [bench.experiment("small"), bench.experiment("large", env={"FAKE_PACKED": "45000000"})]
    config = bench.write(pair, launches=2)
    completed = bench.run("run", config, "--watch", "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    text = bench.run("analyze", bench.out, "--by", "memory").stdout
    (grown,) = [line.split() for line in text.splitlines() if line.split()[:2] == ["packed", "weights"] and "+" in line]
    assert grown[-6:] == ["4.00", "MB", "45.0", "MB", "+41.0", "MB"]
    (operator,) = csv.DictReader(io.StringIO(bench.run("analyze", bench.out, "--csv=packed_weights_change").stdout))
    assert (operator["operator"], operator["change"]) == ("Fully Connected (NC, PF32) GEMM #1", "+41.0 MB")
    delegates = csv.DictReader(io.StringIO(bench.run("analyze", bench.out, "--csv=delegate_memory").stdout))
    assert [row["shared_with"] for row in delegates] == 2 * ["2", "none", "0"]
    loads = list(csv.DictReader(io.StringIO(bench.run("analyze", bench.out, "--csv=load_time").stdout)))
    assert len(loads) == 2 * 7 and "packing by KleidiAI" in text
    for experiment in (loads[:7], loads[7:]):
        *parts, total = [round(float(row["time"]) * 1e6) for row in experiment]
        assert sum(parts) == total == 6_000_001
    # The finding appears if the file and its packed weights have a similar size.
    assert " ".join(text.split()).count("file are in memory next to") == 2
    summary = json.loads(bench.run("analyze", bench.out, "--json").stdout)
    moments = [entry["memory"]["moments"][-1] for entry in summary["experiments"]]
    assert [sum(part["resident_bytes"] for part in moment["parts"]) for moment in moments] == [
        moment["rss_bytes"] for moment in moments
    ]
    assert "Memory: large compared with small" in (bench.out / "report.md").read_text()
    assert bench.run("validate", bench.out).returncode == 0


@pytest.mark.parametrize("changed", [True, False])
def test_a_gate_says_which_kernels_are_proven(bench, changed):
    env = {"FAKE_WATCH_NEON": "1"} if changed else {}
    config = bench.write([bench.experiment("base"), bench.experiment("change", env=env)], launches=2)
    completed = bench.run("check", config, "--watch", "--launches", "3", "--json", "--junit", bench.folder / "j.xml")
    (pair,) = json.loads(completed.stdout)["pairs"]
    (proven,) = pair["proven_kernels"]
    assert proven["baseline"]["code"] == "SME" and proven["baseline"]["kernel"].startswith("kai_run_matmul")
    assert (proven["candidate"] == proven["baseline"]) != changed
    (suite,) = ElementTree.parse(bench.folder / "j.xml").getroot()  # noqa: S314 - ours
    details = "".join(suite.itertext())
    text = "SME (kai_run_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme_mopa) -> NEON"
    assert (text if changed else "none: 1 operator ran the same class of code in both variants") in details


def test_unknown_memory_is_reported(bench):
    measured(bench, FAKE_MEMORY_WHY_NOT="the system does not tell")
    assert warnings(bench, "a") == ["watch: memory by owner: the system does not tell"]
    assert "nothing to show: no memory was watched" in " ".join(
        bench.run("analyze", bench.out, "--by", "memory").stdout.split()
    )


def test_runners_without_watch(bench):
    refused = bench.experiment("old", env={"FAKE_FAIL": "refuse@watch"})
    otherwise = bench.experiment("static", env={"FAKE_WATCH_WHY_NOT": "is linked in"})
    foreign = {"name": "foreign", "runner_path": str(FAKE_RUNNER), "runs": 10}
    completed = bench.run("run", bench.write([refused, otherwise, foreign], launches=2), "--watch", "--no-peaks")
    assert completed.returncode == 0, completed.stderr
    assert warnings(bench, "old") == ["watch: no such operator: demo::missing"]
    assert warnings(bench, "static") == ["watch: is linked in"]
    assert warnings(bench, "foreign") == ["watch: only etprof-runner watches XNNPACK's calls"]
    assert not list(bench.out.glob("*/*_watch.json"))
    assert "no calls were watched" in bench.run("analyze", bench.out, "--by", "threads").stdout


def test_a_damaged_file_is_named_and_the_rest_is_read(bench):
    measured(bench)
    (path,) = bench.out.glob("a/*_watch.json")
    path.write_text(path.read_text().replace('"threads": 2', '"threads": 3'))
    completed = bench.run("analyze", bench.out, "--all")
    assert completed.returncode == 0
    assert path.name in "".join((completed.stderr + completed.stdout).split())
    measured_well = path.read_text().replace('"threads": 3', '"threads": 2')
    path.write_text(measured_well.replace('"rss_bytes": ', '"rss_bytes": 1'))
    text = bench.run("analyze", bench.out, "--all")
    assert "arenotthoseofthewhole" in "".join((text.stderr + text.stdout).split())
    without_memory = json.loads(measured_well) | {"memory": {"why_not": "not told", "moments": [], "operators": []}}
    path.write_text(json.dumps(without_memory))
    completed = bench.run("analyze", bench.out, "--by", "memory")
    assert completed.returncode == 0 and "nothing to show" in completed.stdout
    path.write_text("{")
    completed = bench.run("analyze", bench.out, "--all")
    assert "iscutshort" in "".join((completed.stderr + completed.stdout).split())
