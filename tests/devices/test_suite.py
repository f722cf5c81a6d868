"""Suites on this machine and a board behind a real sshd, with scripted workers: killed, resumed, and two at the same time."""

import fcntl
import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program
from program import wait_until

WORKER = program.ROOT / "tests" / "measure" / "fake_worker.py"
ETDUMP = program.DATA / "toy_cnn.t1.etdump"
DEVICES = ("local", "ssh:one")


class Suite:
    """Two models in two data types on two devices, each with one thread and with two threads."""

    def __init__(self, lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self.board = lab.ssh("one")
        self.root = folder / "out"
        self.programs = {}
        for name in ("first", "second"):
            for dtype in ("fp32", "int8"):
                path = folder / f"{name}_xnnpack_{dtype}.pte"
                path.write_bytes((program.DATA / "toy_cnn.pte").read_bytes())
                self.programs.setdefault(name, {})[dtype] = str(path)

    def write(self, name: str = "suite.json", environment: dict | None = None, **keys) -> Path:
        suite = {
            "models": [{"name": name, "programs": programs} for name, programs in self.programs.items()],
            "dtypes": ["fp32", "int8"],
            "devices": list(DEVICES),
            "variants": ["threads=2"],
            "output_root": str(self.root),
            "runner_path": str(WORKER),
            "runs": 4,
            "launches": 2,
            "rounds": 1,
            "peaks": False,
            "env": {"FAKE_ETDUMP": str(ETDUMP)} | (environment or {}),
        } | keys
        path = self.folder / name
        path.write_text(json.dumps(suite))
        return path

    def command(self, *arguments: object) -> list[str]:
        # The folder with the lock of this machine. Tests do not use the user's lock.
        device_folder = f"ETPROF_DEVICE_DIR={self.folder}"
        return self.lab.command(["env", device_folder, program.etprof(), "suite", *arguments])

    def run(self, *arguments: object, cwd: str = "", **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*arguments),
            env=self.lab.environment | environment,
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def start(self, path: Path, log: str = "stderr", **environment: str) -> subprocess.Popen:
        with (self.folder / log).open("w") as file:
            return subprocess.Popen(
                self.command(path), env=self.lab.environment | environment, stdout=subprocess.DEVNULL, stderr=file
            )

    def runs(self, root: Path | None = None) -> dict[str, dict]:
        """The manifests of the cells' results directories."""
        root = (root or self.root) / "runs"
        return {
            str(path.parent.relative_to(root)): json.loads(path.read_text())
            for path in sorted(root.glob("*/*/*/manifest.json"))
        }


@pytest.fixture
def suite(lab, tmp_path) -> Suite:
    return Suite(lab, tmp_path)


CELLS = [
    f"{model}/{dtype}/{device}"
    for model in ("first", "second")
    for dtype in ("fp32", "int8")
    for device in ("local", "ssh_one")
]


def test_all_cells_are_measured_and_stand_in_one_matrix(suite):
    # No worker answers before both devices have started a worker, so the devices must measure at the same time.
    path = suite.write(
        environment={"FAKE_MEET": f"{suite.folder / 'meet'}:2"}, exclude=[{"dtype": "int8", "device": "ssh:*"}]
    )
    cells = [cell for cell in CELLS if "int8/ssh" not in cell]
    # The manifest of one export. All programs are the same file, so only the manifest's name ties it to a program.
    program_sha256 = hashlib.sha256((program.DATA / "toy_cnn.pte").read_bytes()).hexdigest()
    checked = [{"method": "forward", "inputs": "example", "outputs": [{"max_abs_diff": 0.1, "sqnr_db": 34.5}]}]
    (suite.folder / "first_xnnpack_int8.pte.json").write_text(
        json.dumps({"files": {"net.pte": {"sha256": program_sha256}}, "check": {"cases": checked}})
    )
    completed = suite.run(path, "--json", "--junit", suite.folder / "junit.xml")
    assert completed.returncode == 0, completed.stderr
    report = json.loads(completed.stdout)
    assert program.parse_with_schema("suite_report", completed.stdout) == json.loads(
        (suite.root / "suite_report.json").read_text()
    )
    program.parse_with_schema("suite_state", (suite.root / "suite_state.json").read_text())
    assert [cell["run_directory"].removeprefix("runs/") for cell in report["cells"]] == cells
    assert {cell["status"] for cell in report["cells"]} == {"measured"}
    for cell in report["cells"]:
        (pair,) = cell["pairs"]
        assert pair["variant"] == "threads=2" and pair["launches"] == 2 and 0.9 < cell["latency_ms"] < 1.1
        assert pair["verdict"] == "same"
        exported = (cell["model"], cell["dtype"]) == ("first", "int8")
        assert [setting["variant"] for setting in cell["settings"]] == [None, "threads=2"]
        for setting in cell["settings"]:
            assert setting["sqnr_db"] == (34.5 if exported else None)
            assert 0.9 < setting["latency_ms"] < 1.1 and setting["load_ms"] > 0 and setting["load_interval"] is None
    # One row per device, and one row for both devices. Each model is one sample, independent of its data types.
    assert [(row["device"], row["models"], row["ratios"]) for row in report["variants"]] == [
        ("local", 2, 4),
        ("ssh:one", 2, 2),
        (None, 2, 6),
    ]
    assert (suite.folder / "junit.xml").read_text().count("<testcase") == len(cells)
    text = (suite.root / "suite_report.md").read_text()
    for word in ("ssh:one", "second", "int8", "6 of 6 cells measured", "Slowest operators", "Convolution"):
        assert word in text
    for cell in cells:
        assert suite.lab.run([program.etprof(), "validate", suite.root / "runs" / cell]).returncode == 0
    # Both commands regenerate the report from its folder, and the same command measures nothing.
    written = {name: (suite.root / name).read_text() for name in ("suite_report.json", "suite_report.md")}
    for name in written:
        (suite.root / name).unlink()
    assert "suite_report.html" in suite.run(suite.root, "--all").stdout
    done_report = suite.lab.run([program.etprof(), "report", suite.root])
    assert done_report.returncode == 0 and [Path(line).name for line in done_report.stdout.splitlines()] == [
        "suite_report.md",
        "suite_report.html",
        "suite_report.json",
    ]
    assert {name: (suite.root / name).read_text() for name in written} == written
    before = {path: path.stat().st_mtime_ns for path in suite.root.rglob("manifest.json")}
    second_run = suite.run(suite.root, "--json")
    assert second_run.returncode == 0 and json.loads(second_run.stdout) == report
    assert suite.run(path, "--json").stdout == completed.stdout
    assert before == {path: path.stat().st_mtime_ns for path in suite.root.rglob("manifest.json")}
    plan = suite.run(path, "--dry-run", "--json")
    assert plan.returncode == 0 and plan.stdout.count('"measured"') == len(cells), plan.stdout
    parts = [value for part in json.loads(plan.stdout)["sections"][0]["parts"] for value in part.values()]
    tables = [part["id"] for part in parts if "id" in part]
    assert tables == ["plan", "planned_cells"]
    for table in tables:
        result = suite.run(path, "--dry-run", "--csv", table)
        assert result.returncode == 0 and result.stdout, (table, result.stderr)
        measured = suite.run(path, "--csv", table)  # which is not found out after hours
        assert measured.returncode == 2 and f"does not take `{table}`" in measured.stderr


def test_killed_at_any_moment_it_goes_on_where_it_was(suite):
    path = suite.write(environment={"FAKE_SLEEP": "0.02"})
    stored_launches: dict[str, dict] = {}
    rng = random.Random(24)  # noqa: S311

    def complete(device: str, status: str) -> int:
        """The number of a device's complete cells ("cell") or complete launches ("launch")."""
        runs = [manifest for cell, manifest in suite.runs().items() if cell.endswith(device)]
        if status == "cell":
            return sum(manifest["status"] == "complete" for manifest in runs)
        return sum(
            launch["status"] == "complete" for run in runs for result in run["results"] for launch in result["launches"]
        )

    moments = [
        lambda: len(suite.runs()) >= 1,
        lambda: complete("local", "cell") >= 1,
        lambda: complete("ssh_one", "launch") >= 1,
        lambda: complete("ssh_one", "cell") >= 1,
        lambda: complete("local", "cell") == 4 and complete("ssh_one", "launch") >= 6,
        None,
    ]
    for moment in moments:
        process = suite.start(path)
        if moment is not None:
            wait_until(lambda: moment() or process.poll() is not None)  # noqa: B023
            time.sleep(rng.uniform(0, 0.4))
            if moment is moments[1]:  # after Ctrl-C, the message says how to resume
                process.send_signal(signal.SIGINT)
                assert process.wait(240) == 130
                assert "Interrupted. What was measured is in" in (suite.folder / "stderr").read_text()
            else:
                process.send_signal(signal.SIGKILL)
                process.wait()
        else:
            assert process.wait(600) == 0, (suite.folder / "stderr").read_text()
        # Complete launches stay unchanged: finished cells are not touched, and complete launches of other cells are
        # not measured again.
        for cell, manifest in suite.runs().items():
            stored = {
                # These keys may change, since the end of a run merges the launches' traces.
                (result["experiment"], launch["index"]): {
                    key: value for key, value in launch.items() if key not in ("etdump_part", "traced_runs")
                }
                for result in manifest["results"]
                for launch in result["launches"]
                if launch["status"] == "complete"
            }
            for key, launch in stored_launches.get(cell, {}).items():
                assert stored.get(key) == launch, (cell, key)
            stored_launches[cell] = stored
    assert sorted(stored_launches) == sorted(CELLS)
    # Two launches have both experiments. A launch that was killed between its experiments keeps the complete one.
    for cell, launches in stored_launches.items():
        launches_by_index = Counter(index for _, index in launches)
        assert list(launches_by_index.values()).count(2) == 2, (cell, launches.keys())
    report = json.loads((suite.root / "suite_report.json").read_text())
    assert {cell["status"] for cell in report["cells"]} == {"measured"}
    for cell in CELLS:
        assert suite.runs()[cell]["status"] == "complete"
        assert not (suite.root / "runs" / cell / "previous").exists()
    wait_until(lambda: suite.board.processes() == {})
    wait_until(lambda: not [name for name in suite.board.files() if name.startswith("runs/")])


ENOUGH = 50  # more workers than two suites of two cells start


def test_two_suites_take_turns_on_a_device(suite):
    # The test holds the board's lock until both suites wait for it.
    suite.board.folder.mkdir(parents=True, exist_ok=True)
    (suite.board.folder / ".etprof").touch()
    (suite.board.folder / "holder").write_text("the test\n")
    holder = (suite.board.folder / "lock").open("w")
    fcntl.flock(holder, fcntl.LOCK_EX)
    processes = {}
    for name in ("day", "night"):
        # A worker that finds a worker of the other suite at work records that in the file `met`.
        environment = {"FAKE_ALONE": str(suite.folder / "at_work"), "FAKE_WHO": name}
        # The suite that measures first continues only after the other suite has reported that it waits.
        environment["FAKE_MEET"] = f"{suite.folder / 'go'}:{ENOUGH}"
        root = str(suite.folder / name)
        programs = [{"name": "net", "programs": suite.programs["first"]}]
        path = suite.write(
            f"{name}.json", environment, output_root=root, devices=["ssh:one"], variants=[], models=programs
        )
        processes[name] = suite.start(path, f"{name}.log")
    wait_until(lambda: all("waiting for the test" in (suite.folder / f"{name}.log").read_text() for name in processes))
    assert not list(suite.folder.rglob("manifest.json"))
    holder.close()

    def log(name: str) -> str:
        return (suite.folder / f"{name}.log").read_text()

    wait_until(lambda: "suite night (process" in log("day") or "suite day (process" in log("night"))
    go = suite.folder / "go"
    go.mkdir(exist_ok=True)  # the worker creates this folder at its first burst, which it may not have reached
    for number in range(ENOUGH):
        (go / f"of_the_test_{number}").touch()
    for process in processes.values():
        assert process.wait(600) == 0
    met_file = suite.folder / "at_work" / "met"
    assert not met_file.exists(), met_file.read_text()
    # The cells alternate: neither suite waits for the other's last cell.
    start_times = [
        sorted(path.stat().st_mtime for path in (suite.folder / name / "runs").rglob("config.json"))
        for name in processes
    ]
    assert [len(times) for times in start_times] == [2, 2]
    assert max(times[0] for times in start_times) < min(times[-1] for times in start_times)


def test_what_fails_is_said_and_stops_nothing_else(suite):
    (suite.folder / "first_xnnpack_int8.pte").write_bytes(b"no program")
    path = suite.write(devices=["local", "ssh:nowhere"])
    plan = suite.run(path, "--dry-run").stdout
    assert "the device cannot be reached" in plan and "to be measured" in plan, plan
    completed = suite.run(path, "--json")
    assert completed.returncode == 4, completed.stderr
    failed = {
        (cell["model"], cell["dtype"], cell["device"]): cell["reason"]
        for cell in json.loads(completed.stdout)["cells"]
        if cell["status"] == "failed"
    }
    assert len(failed) == 1 + 4
    assert "first_xnnpack_int8.pte" in failed["first", "int8", "local"]
    assert "cannot be reached" in failed["second", "fp32", "ssh:nowhere"]
    # After the program is restored, only its cell is measured.
    (suite.folder / "first_xnnpack_int8.pte").write_bytes((program.DATA / "toy_cnn.pte").read_bytes())
    before = suite.runs()
    completed = suite.run(suite.write(devices=["local"]), "--json")
    assert completed.returncode == 0, completed.stdout
    after = suite.runs()
    assert {cell: after[cell] for cell in before} == before and len(after) == 4


EXPORTER = """#!/bin/sh
# What `etprof export` starts, instead of Python: -m etprof.export --model M --dtype T,.. --outdir DIR
[ "$4" != broken ] || { echo "error: No model is called broken" >&2; echo "hint: Name another." >&2; exit 3; }
echo "$4 $6" >>exported
IFS=,
for type in $6; do cp %s "$8/net_xnnpack_$type.pte"; : >"$8/net_xnnpack_$type.pte.inputs.no"; done
"""


def test_a_lost_device_names_no_option_that_suites_lack(suite):
    path = suite.write(devices=["ssh:one"], launches=200)
    with (suite.folder / "log").open("w") as log:
        command = suite.command(path, "--wait-for-device", "1")
        process = subprocess.Popen(command, env=suite.lab.environment, stdout=subprocess.DEVNULL, stderr=log)
    wait_until(lambda: any((suite.root / "runs").rglob("manifest.json")))
    suite.board.stop()
    assert process.wait(600) == 4
    text = (suite.folder / "log").read_text()
    assert "did not come back. The same command continues." in text and "--resume" not in text, text


def test_what_is_missing_is_exported_once(suite):
    exporter = suite.folder / "exporter"
    exporter.write_text(EXPORTER % (program.DATA / "toy_cnn.pte"))
    exporter.chmod(0o755)
    path = suite.write(devices=["local"], models=["nets/net.py:Net", "broken"], variants=[])
    # The partial result of an export that was killed.
    partial_export = suite.root / "artifacts" / "net.py_Net" / ".exporting"
    partial_export.mkdir(parents=True)
    (partial_export / "net_xnnpack_fp32.pte").write_bytes(b"half")
    for _ in range(2):
        completed = suite.run(path, "--json", ETPROF_PYTHON=str(exporter))
        assert completed.returncode == 4, completed.stderr
        cells = json.loads(completed.stdout)["cells"]
        assert [cell["status"] for cell in cells] == ["measured", "measured", "failed", "failed"]
        assert cells[2]["reason"] == "could not be exported: No model is called broken. Name another."
        assert (suite.folder / "exported").read_text() == "nets/net.py:Net fp32,int8\n"
        assert sorted(path.name for path in partial_export.parent.glob("*.pte")) == [
            "net_xnnpack_fp32.pte",
            "net_xnnpack_int8.pte",
        ]
        assert not partial_export.exists()


BACKEND_EXPORTER = """#!/bin/sh
echo "${10:-xnnpack}" >>exported
cp %s "$8/net_${10:-xnnpack}_$6.pte"
"""


def test_the_program_of_another_backend_is_not_measured(suite):
    exporter = suite.folder / "exporter"
    exporter.write_text(BACKEND_EXPORTER % (program.DATA / "toy_cnn.pte"))
    exporter.chmod(0o755)
    for keys in ({}, {"backend": "portable"}, {"backend": "other:OtherPartitioner"}):
        path = suite.write(devices=["local"], dtypes=["fp32"], models=["nets/net.py:Net"], variants=[], **keys)
        suite.run(path, ETPROF_PYTHON=str(exporter))
    assert (suite.folder / "exported").read_text().splitlines() == ["xnnpack", "portable", "other:OtherPartitioner"]


KEEPING_EXPORTER = """#!/bin/sh
echo "$6 $9" >>exported
kept=$(echo "${9#--keep=}" | sed 's/[^,][^,]*/"&"/g')
[ -z "$kept" ] || end=_keep
cp %s "$8/net_xnnpack_$6$end.pte"
echo "{\\"kept\\": [$kept]}" >"$8/net_xnnpack_$6$end.pte.json"
"""


def test_operators_that_stay_in_float_are_a_data_type(suite):
    exporter = suite.folder / "exporter"
    exporter.write_text(KEEPING_EXPORTER % (program.DATA / "toy_cnn.pte"))
    exporter.chmod(0o755)
    exported = ["int8 ", "int8 --keep=add,cat", "int8 "]
    for keep in (["add", "cat"], "add,cat", "add"):
        models = [{"name": "net", "model": "nets/net.py:Net", "keep": keep}, "other"]
        path = suite.write(devices=["local"], dtypes=["int8", "int8+keep"], models=models, variants=[])
        completed = suite.run(path, "--json", ETPROF_PYTHON=str(exporter))
        assert completed.returncode == 0, completed.stderr
        cells = [(cell["model"], cell["dtype"], cell["status"]) for cell in json.loads(completed.stdout)["cells"]]
        assert cells == [("net", "int8", "measured"), ("net", "int8+keep", "measured"), ("other", "int8", "measured")]
        if keep == "add":  # another choice is another program
            exported.append("int8 --keep=add")
        assert (suite.folder / "exported").read_text().splitlines() == exported
    assert suite.runs()["net/int8+keep/local"]["model"].endswith("net_xnnpack_int8_keep.pte")


def test_a_frontier_is_measured_again_before_a_winner_is_named(suite):
    # int8 takes half of the time, and two threads change nothing. All programs are the same file and equally accurate.
    factors = {Path(suite.programs["first"]["int8"]).name: 0.5}
    models = [{"name": "net", "programs": suite.programs["first"]}]
    keys = {"devices": ["local"], "models": models, "launches": 5, "rounds": 2}
    environment = {"FAKE_MODEL_FACTORS": json.dumps(factors)}
    completed = suite.run(suite.write(environment=environment, **keys), "--json")
    assert completed.returncode == 0, completed.stderr
    report = json.loads(completed.stdout)
    fp32, int8 = (cell["settings"] for cell in report["cells"])
    assert [setting["frontier"] for setting in fp32 + int8] == ["no", "no", "yes", "yes"]
    assert {setting["dominated_by"] for setting in fp32} <= {"int8, 1 thread", "int8, 2 threads"}
    assert report["confirmations"] == []
    assert "they name no winner" in suite.run(suite.root).stdout
    before = suite.runs()
    path = suite.write(environment=environment, confirm=True, **keys)
    completed = suite.run(path, "--json")
    assert completed.returncode == 0, completed.stderr
    assert "frontier of net" in completed.stderr
    assert suite.runs() == before, "launches that found the frontier are left as they were"
    report = program.parse_with_schema("suite_report", completed.stdout)
    (confirmation,) = report["confirmations"]
    assert (confirmation["model"], confirmation["dtype"], confirmation["status"]) == ("net", "fp32", "measured")
    assert {confirmation["fastest"], *confirmation["tied"]} == {"int8", "2 threads, int8"}
    for pair in confirmation["pairs"]:
        assert pair["verdict"] == "faster" and pair["launches"] == 5
        assert pair["ratio_low"] < 2 < pair["ratio_high"] or abs(pair["ratio"] - 2) < 0.1
    program.parse_with_schema("suite_state", (suite.root / "suite_state.json").read_text())
    text = (suite.root / "suite_report.md").read_text()
    assert "is fastest" in text and "Not measurably slower" in text
    # The report is shown again, and nothing is measured.
    manifest = suite.root / "confirmed" / "net" / "local" / "manifest.json"
    assert suite.lab.run([program.etprof(), "validate", manifest.parent]).returncode == 0
    measured = manifest.stat().st_mtime_ns
    assert suite.run(path, "--json").stdout == completed.stdout == suite.run(suite.root, "--json").stdout
    assert manifest.stat().st_mtime_ns == measured
    assert "confirmed" in suite.run(suite.root, "--csv=help").stderr
    assert suite.run(suite.root, "--csv=confirmed").stdout.count("\n") == 4
    assert "measured again" in suite.run(path, "--dry-run").stdout


# The process that sends the signal is in a separate session, so that it does not end with the export.
SIGNALLED = """#!/bin/sh
setsid sh -c ": >signals; sleep 0.3; kill -INT $PPID" >/dev/null 2>&1 &
until [ -e signals ]; do sleep 0.01; done
exit 130
"""


def test_an_export_that_the_signal_reaches_first_is_no_failure(suite):
    exporter = suite.folder / "exporter"
    exporter.write_text(SIGNALLED)
    exporter.chmod(0o755)
    completed = suite.run(suite.write(devices=["local"], models=["nets/net.py:Net"]), ETPROF_PYTHON=str(exporter))
    assert completed.returncode == 130, completed.stderr
    cells = json.loads((suite.root / "suite_state.json").read_text())["cells"]
    assert {cell["status"] for cell in cells} == {"pending"}, cells


def test_a_limit_fails_the_suite(suite):
    slow = {Path(path).name: 1.5 for path in [suite.programs["second"]["fp32"]]}
    path = suite.write(
        environment={"FAKE_MODEL_FACTORS": json.dumps(slow)},
        devices=["local"],
        dtypes=["fp32"],
        models=[{"name": "net", "programs": {"fp32": suite.programs["first"]["fp32"]}}],
        variants=[f"model={Path(suite.programs['second']['fp32']).name}"],  # relative to the suite's folder
        max_slowdown="5%",
        launches=3,
    )
    completed = suite.run(path, "--junit", suite.folder / "junit.xml", cwd=str(suite.folder.parent))
    assert completed.returncode == 1, completed.stderr + completed.stdout
    assert "FAIL" in completed.stdout and 'type="regression"' in (suite.folder / "junit.xml").read_text()


def test_a_limit_without_variants_is_not_decided(suite):
    junit = suite.folder / "junit.xml"
    path = suite.write(devices=["local"], dtypes=["fp32"], variants=[], max_slowdown="5%")
    for options, code, outcome in (([], 5, "skipped"), (["--require-conclusive"], 1, "failure")):
        completed = suite.run(path, "--junit", junit, *options)
        assert completed.returncode == code, completed.stderr + completed.stdout
        assert f"<{outcome} " in junit.read_text() and "there are no variants to compare" in junit.read_text()


def test_what_is_not_certain_is_neither_passed_nor_failed(suite):
    # One variant takes twice as long in the first of two launches.
    path = suite.write(
        environment={"FAKE_LAUNCH_FACTORS": "1,2,1", "FAKE_STATE": str(suite.folder / "state")},
        devices=["local"],
        dtypes=["fp32"],
        models=[{"name": "net", "programs": {"fp32": suite.programs["first"]["fp32"]}}],
        max_slowdown="5%",
    )
    completed = suite.run(path)
    assert completed.returncode == 5, completed.stderr + completed.stdout
    # The result can be shown from its folder in each format.
    junit, summary, page = (suite.folder / name for name in ("junit.xml", "summary.md", "page.html"))
    for word, code in (("skipped", 5), ("failure", 1)):
        strict = ["--require-conclusive"] if code == 1 else []
        again = suite.run(suite.root, *strict, "--junit", junit, f"--github-summary={summary}", "--html", page)
        assert again.returncode == code
        assert f"<{word}" in junit.read_text()
        assert "| net " in summary.read_text()
        assert page.read_text().lstrip().lower().startswith("<!doctype html")
    assert suite.run(suite.root, "--max-slowdown", "1000%").returncode == 0
    # `etprof report` shows the result, too, and does not fail.
    report = [program.etprof(), "report", suite.root]
    completed = suite.lab.run([*report, "--json"])
    assert completed.returncode == 0 and json.loads(completed.stdout)["cells"][0]["model"] == "net"
    completed = suite.lab.run([*report, "--csv=latency"])
    assert completed.returncode == 0 and "net,fp32" in completed.stdout
    completed = suite.lab.run([*report, "--out", suite.folder / "own.html"])
    assert completed.returncode == 0 and (suite.folder / "own.html").read_text().lower().startswith("<!doctype html")
    completed = suite.lab.run([*report, "--out", "-", "--title", "nightly"])
    assert completed.returncode == 0 and "nightly" in completed.stdout
    for invalid_options in (["--brief"], ["--by", "layer"], [suite.root]):
        completed = suite.lab.run([*report, *invalid_options])
        assert completed.returncode == 2, completed.stderr
        program.one_error(completed.stderr)


def test_a_cell_waits_for_a_cool_device(suite):
    # A cooling device below /sys that slows the CPU down.
    cooler = suite.folder / "sys" / "class" / "thermal" / "cooling_device0"
    cooler.mkdir(parents=True)
    for name, text in (("type", "cpufreq-cpu0"), ("max_state", "10"), ("cur_state", "3")):
        (cooler / name).write_text(text)
    (suite.folder / "proc").mkdir()  # nothing is known of other processes
    path = suite.write(
        devices=["local"],
        dtypes=["fp32"],
        models=[{"name": "net", "programs": {"fp32": suite.programs["first"]["fp32"]}}],
        wait_minutes=10,
    )
    scripted = {"ETPROF_SYSFS_ROOT": str(suite.folder), "ETPROF_PROC_ROOT": str(suite.folder / "proc")}
    start = time.monotonic()
    process = suite.start(path, **scripted)
    waiting = "waiting for a quiet and cool device: cpufreq-cpu0 slows CPUs down (3 of 10)"
    wait_until(lambda: waiting in (suite.folder / "stderr").read_text() or process.poll() is not None)
    assert not suite.runs(), (suite.folder / "stderr").read_text()
    (cooler / "cur_state").write_text("0")
    assert process.wait(240) == 0, (suite.folder / "stderr").read_text()
    elapsed = time.monotonic() - start
    ((cell, manifest),) = suite.runs().items()
    assert manifest["schedule"]["quiet_seconds"] > 0
    assert any("were waited for a quiet and cool device" in text for text in manifest["warnings"])
    assert suite.lab.run([program.etprof(), "validate", suite.root / "runs" / cell]).returncode == 0
    state = json.loads((suite.root / "suite_state.json").read_text())
    (cell_state,) = state["cells"]
    assert cell_state["seconds"] + manifest["schedule"]["quiet_seconds"] <= elapsed  # waiting is not measuring time
    # After the maximum waiting time, the cell is measured anyway.
    (cooler / "cur_state").write_text("5")
    completed = suite.run(path, "--output-root", suite.folder / "again", "--wait-minutes", "0.02", **scripted)
    assert completed.returncode == 0, completed.stderr
    ((_, manifest),) = suite.runs(suite.folder / "again").items()
    assert any("the device was not quiet after 0.02 min of waiting" in text for text in manifest["warnings"])
    # Ctrl-C while it waits changes nothing.
    before = suite.runs()
    (suite.folder / "first_xnnpack_fp32.pte").write_bytes((program.DATA / "toy_cnn.pte").read_bytes() + b" ")
    process = suite.start(path, **scripted)
    wait_until(lambda: "(5 of 10)" in (suite.folder / "stderr").read_text() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    assert process.wait(240) == 130
    assert suite.runs() == before


def test_what_is_left_of_the_time_goes_to_the_least_certain(suite):
    # In the first launch of the first cell, one variant takes twice as long as in all later launches.
    path = suite.write(
        environment={"FAKE_LAUNCH_FACTORS": "1,2,1", "FAKE_STATE": str(suite.folder / "state")},
        devices=["local"],
        dtypes=["fp32"],
        models=[{"name": name, "programs": {"fp32": programs["fp32"]}} for name, programs in suite.programs.items()],
        launches=None,
        rounds=1,
        max_seconds=0.1,
        max_minutes=10,
        precision=0.2,
    )
    completed = suite.run(path, "--json")
    assert completed.returncode == 0, completed.stderr
    noisy, quiet = (cell["pairs"][0] for cell in json.loads(completed.stdout)["cells"])
    # Both cells have the minimum of launches. The first cell gets the launches that it lacks, and no more.
    assert quiet["launches"] == 2 < noisy["launches"]
    assert quiet["verdict"] == "same"
    manifest = suite.runs()["first/fp32/local"]
    assert manifest["schedule"]["max_seconds"] > 0.1
    assert noisy["launches"] <= 20  # in all of the ten minutes there would be hundreds


def test_a_larger_number_of_launches_adds_the_missing_ones(suite):
    keys = {"devices": ["local"], "exclude": [{"dtype": "int8"}]}
    for launches, expected in ((2, 2), (4, 4), (3, 4)):
        assert suite.run(suite.write(launches=launches, **keys)).returncode == 0
        assert [run["schedule"]["launches"] for run in suite.runs().values()] == [expected, expected]


def test_seconds_of_an_outdated_measurement_do_not_count(suite):
    exclude = [{"dtype": "int8"}]
    path = suite.write(devices=["local"], exclude=exclude, launches=None, max_minutes=10, precision=0.2)
    assert suite.run(path).returncode == 0
    # The models change, and their old measurements took all of the time.
    for programs in suite.programs.values():
        with Path(programs["fp32"]).open("ab") as program_file:
            program_file.write(b" ")
    state = json.loads((suite.root / "suite_state.json").read_text())
    for cell in state["cells"]:
        cell["seconds"] = 590
    (suite.root / "suite_state.json").write_text(json.dumps(state))
    completed = suite.run(path)
    assert completed.returncode == 0, completed.stderr
    assert [run["schedule"]["max_seconds"] for run in suite.runs().values()] == [60, 60]
    state = json.loads((suite.root / "suite_state.json").read_text())
    assert all(cell["seconds"] < 590 for cell in state["cells"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"modls": []}, "modls"),
        ({"exclude": [{"device": "adb*"}]}, "exclude[0] matches nothing"),
        ({"devices": ["pi5"]}, "unknown device"),
    ],
)
def test_a_wrong_file_is_said_in_two_lines(suite, keys, message):
    completed = suite.run(suite.write(**keys))
    assert completed.returncode == 3 and message in program.one_error(completed.stderr)


@pytest.mark.parametrize("cells", [[{}], [{"model": "net"}], [{"model": "net", "run_directory": 1}], [None], {}])
def test_a_damaged_state_is_one_message(cells, tmp_path):
    (tmp_path / "suite_state.json").write_text(json.dumps({"cells": cells}))
    result = program.run("suite", tmp_path)
    assert result.returncode == 3, result.stderr
    assert "suite_state.json` is damaged" in program.one_error(result.stderr)
