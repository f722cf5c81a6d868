"""`--watch` with the scripted worker: what a CPU with a shared matrix unit says, and runners that cannot be watched."""

import json

from measure_bench import FAKE_RUNNER


def warnings(bench, name: str) -> list[str]:
    return [w for w in bench.result(name)["warnings"] if w.startswith("watch: ")]


def measured(bench, **env: str):
    done = bench.run("run", bench.write([bench.experiment("a", env=env)], launches=2), "--watch", "--no-peaks")
    assert done.returncode == 0, done.stderr
    return bench.run("analyze", bench.out, "--by", "threads").stdout


def test_a_shared_unit_is_named(bench):
    assert "probably one shared matrix unit" in " ".join(measured(bench).split())
    proven = bench.run("analyze", bench.out, "--by", "proven", "--all").stdout
    assert "SME" in proven
    kernels = json.loads(bench.run("kernels", bench.out, "--json").stdout)
    assert "kai_run_matmul_clamp_f32" in bench.run("analyze", bench.out, "--csv=proven").stdout
    ((row,),) = [one["operators"] for one in kernels["watched"]]
    assert (row["code"], row["kleidiai"], row["threads"]["cause"]) == ("SME", True, "shared_unit")
    assert row["threads"]["speedup_over_one"] == 0.9
    report = (bench.out / "report.md").read_text()
    assert "Proven kernels: a" in report and "Threads: a" in report
    assert bench.run("validate", bench.out).returncode == 0


def test_of_contended_runs_no_reason_is_named(bench):
    said = " ".join(measured(bench, FAKE_WATCH_CONTENDED="1").split())
    assert "no cause is named" in said and "shared" not in said


def test_who_cannot_be_watched(bench):
    refused = bench.experiment("old", env={"FAKE_FAIL": "refuse@watch"})
    otherwise = bench.experiment("static", env={"FAKE_WATCH_WHY_NOT": "is linked in"})
    foreign = {"name": "foreign", "runner_path": str(FAKE_RUNNER), "runs": 10}
    done = bench.run("run", bench.write([refused, otherwise, foreign], launches=2), "--watch", "--no-peaks")
    assert done.returncode == 0, done.stderr
    assert warnings(bench, "old") == ["watch: no such operator: demo::missing"]
    assert warnings(bench, "static") == ["watch: is linked in"]
    assert warnings(bench, "foreign") == ["watch: only etprof-runner watches XNNPACK's calls"]
    assert not list(bench.out.glob("*/*_watch.json"))
    assert "no calls were watched" in bench.run("analyze", bench.out, "--by", "threads").stdout


def test_a_damaged_file_is_named_and_the_rest_is_read(bench):
    measured(bench)
    (path,) = bench.out.glob("a/*_watch.json")
    path.write_text(path.read_text().replace('"threads": 2', '"threads": 3'))
    done = bench.run("analyze", bench.out, "--all")
    assert done.returncode == 0
    assert path.name in "".join((done.stderr + done.stdout).split())
    path.write_text("{")
    done = bench.run("analyze", bench.out, "--all")
    assert "iscutshort" in "".join((done.stderr + done.stdout).split())
