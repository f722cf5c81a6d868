"""Several devices in one run: this machine, boards behind real sshds and a phone behind a real adbd, with scripted workers."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program
from program import wait_until

MODEL = program.DATA / "toy_cnn.pte"
WORKER = program.ROOT / "tests" / "measure" / "fake_worker.py"
ETDUMP = program.DATA / "toy_cnn.t1.etdump"


class Fleet:
    """This machine and two boards, and a configuration of two experiments for all of them."""

    def __init__(self, lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self.boards = {"ssh:one": lab.ssh("one"), "ssh:two": lab.ssh("two")}
        self.root = folder / "out"

    def write(self, environment: dict | None = None, **keys) -> Path:
        experiments = [{"name": "off"}, {"name": "on", "env": {"FAKE_LATENCY_NS": "500000"}}]
        shared_environment = {"FAKE_ETDUMP": str(ETDUMP)} | (environment or {})
        for experiment in experiments:
            experiment["env"] = shared_environment | experiment.get("env", {})
        config = {
            "model": str(MODEL),
            "runner_path": str(WORKER),
            "output_root": str(self.root),
            "device": ["local", *self.boards],
            "runs": 4,
            "launches": 2,
            "rounds": 2,
            "experiments": experiments,
        } | keys
        path = self.folder / "config.json"
        path.write_text(json.dumps(config))
        return path

    def command(self, path: Path, *arguments: str) -> list[str]:
        return [str(program.etprof()), "run", str(path), *arguments]

    def run(self, path: Path, *arguments: str) -> subprocess.CompletedProcess:
        return self.lab.run(self.command(path, *arguments), timeout=600)

    def start(self, path: Path, *arguments: str) -> tuple[subprocess.Popen, Path]:
        log = self.folder / "stderr"
        with log.open("w") as file:
            process = self.lab.popen(self.command(path, *arguments), stdout=subprocess.PIPE, stderr=file, text=True)
        return process, log

    def manifest(self, device: str) -> dict:
        return json.loads((self.root / self.directory(device) / "manifest.json").read_text())

    def directory(self, device: str) -> str:
        """The results directory of a device. The devices have the same platform, so the directories have their names."""
        (directory_name,) = [
            path.name for path in self.root.iterdir() if path.name.endswith("-" + device.rpartition(":")[2])
        ]
        return directory_name

    def launches(self, device: str) -> list[int]:
        """The number of complete launches of each experiment."""
        return [
            sum(launch["status"] == "complete" for launch in result["launches"])
            for result in self.manifest(device)["results"]
        ]

    def wait_until_clean(self) -> None:
        for board in self.boards.values():
            wait_until(lambda: board.processes() == {})  # noqa: B023
            wait_until(lambda: not [name for name in board.files() if name.startswith("runs/")])  # noqa: B023


@pytest.fixture
def fleet(lab, tmp_path) -> Fleet:
    return Fleet(lab, tmp_path)


def report(fleet: Fleet) -> dict:
    return json.loads((fleet.root / "devices_report.json").read_text())


def test_all_measure_at_once_and_are_told_side_by_side(fleet):
    # No worker answers its first burst before all three devices have started theirs, so serial measuring would never end.
    path = fleet.write({"FAKE_MEET": f"{fleet.folder / 'meet'}:3"})
    completed = fleet.run(path)
    assert completed.returncode == 0, completed.stderr
    for device in ("local", *fleet.boards):
        assert fleet.launches(device) == [2, 2]
        manifest = fleet.manifest(device)
        assert manifest["device"]["name"] == device and manifest["status"] == "complete"
        config = json.loads((fleet.root / fleet.directory(device) / "config.json").read_text())
        assert {experiment["device"] for experiment in config["experiments"]} == {device}
        assert fleet.lab.run([program.etprof(), "validate", fleet.root / fleet.directory(device)]).returncode == 0
    devices_report = report(fleet)
    assert [device["name"] for device in devices_report["devices"]] == ["local", *fleet.boards]
    (model,) = devices_report["models"]
    for cell in model["comparisons"][0]["devices"]:
        assert cell["verdict"] == "faster" and 1.9 < cell["ratio"] < 2.1
    for cell in model["experiments"][0]["devices"][1:]:
        # The workers' latencies are scripted, and the same everywhere, but devices drift.
        assert cell["against_first"]["device"] == "local" and cell["against_first"]["verdict"] == "inconclusive"
        assert cell["against_first"]["ratio"] == pytest.approx(1)
    for text in ("Latency across platforms", "Speedup per platform", "Categories per platform", "ssh:one", "ssh:two"):
        assert text in (fleet.root / "devices_report.md").read_text()
    for text in ("3 devices", "ssh:two", "2.00x faster", "unpaired"):
        assert text in completed.stdout
    # Without a terminal, each line of progress starts with its device's name.
    for device in ("local", *fleet.boards):
        assert f"\n{device}: " in "\n" + completed.stderr
    fleet.wait_until_clean()

    # The report can be regenerated, from the runs or by --analysis-only, without any device.
    for board in fleet.boards.values():
        board.stop()
    folders = [fleet.root / fleet.directory(device) for device in ("local", *fleet.boards)]
    again = fleet.lab.run([program.etprof(), "report", *folders, "--json"])
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["models"] == devices_report["models"]
    analyzed = fleet.run(path, "--analysis-only", "--only", "on")
    assert analyzed.returncode == 0, analyzed.stderr
    assert "ssh:two" in analyzed.stdout


def test_a_device_that_is_not_there_stops_no_other(fleet):
    path = fleet.write(device=["ssh:nowhere", "local", "ssh:one"])
    fleet.lab.add_ssh_host("Host nowhere\n  HostName 127.0.0.1\n  Port 1\n", "")
    completed = fleet.run(path)
    assert completed.returncode == 4
    (line,) = [line for line in completed.stderr.splitlines() if line.startswith("error: `ssh:nowhere`")]
    assert "cannot be reached" in line
    assert fleet.launches("local") == fleet.launches("ssh:one") == [2, 2]
    assert [device["name"] for device in report(fleet)["devices"]] == ["local", "ssh:one"]


def test_one_that_is_lost_is_named_and_goes_on_when_it_is_back(fleet):
    path = fleet.write({"FAKE_SLEEP": "0.5"})  # the second launch takes seconds
    process, log = fleet.start(path, "--wait-for-device", "1")
    wait_until(lambda: _has_launch(fleet, "ssh:one"))
    fleet.boards["ssh:one"].stop()
    process.communicate(timeout=600)
    text = log.read_text()
    assert process.returncode == 4, text
    assert any(line.startswith("error: `ssh:one`") and "did not come back" in line for line in text.splitlines()), text
    assert fleet.launches("local") == fleet.launches("ssh:two") == [2, 2]
    assert fleet.manifest("ssh:one")["status"] == "interrupted"
    # The report has the device's partial results, and its status.
    (lost_device,) = [device for device in report(fleet)["devices"] if device["name"] == "ssh:one"]
    assert lost_device["status"] == "interrupted"

    fleet.boards["ssh:one"].start()
    completed = fleet.run(path, "--resume")
    assert completed.returncode == 0, completed.stderr
    assert fleet.launches("ssh:one") == [2, 2]
    # The others had nothing left to do.
    assert fleet.launches("local") == fleet.launches("ssh:two") == [2, 2]
    assert not list(fleet.root.glob("*/previous"))
    fleet.wait_until_clean()


def _has_launch(fleet: Fleet, device: str) -> bool:
    """True if a launch of the device is stored."""
    try:
        return min(fleet.launches(device)) >= 1
    except (OSError, ValueError):
        return False


def test_ctrl_c_ends_all_and_keeps_all(fleet):
    path = fleet.write({"FAKE_SLEEP": "0.2"}, launches=20)
    process, log = fleet.start(path)
    wait_until(lambda: all(_has_launch(fleet, device) for device in ("local", *fleet.boards)))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=600)
    text = log.read_text()
    assert process.returncode == 130, text
    (results_line,) = [line for line in text.splitlines() if line.startswith("Interrupted. Partial results are in ")]
    (view_line,) = [line for line in text.splitlines() if line.startswith("  View: ")]
    (resume_line,) = [line for line in text.splitlines() if line.startswith("  Resume: ")]
    assert str(path) in resume_line and resume_line.endswith(" --resume")
    for device in ("local", *fleet.boards):
        assert fleet.directory(device) in results_line and fleet.directory(device) in view_line
        assert fleet.manifest(device)["status"] == "interrupted"
        assert min(fleet.launches(device)) >= 1
    fleet.wait_until_clean()


def plan_by_device(screen: str) -> dict[str, list[str]]:
    """The lines below each device's name, with single spaces. "experiments" replaces the table's header."""
    plans: dict[str, list[str]] = {}
    for fields in filter(None, map(str.split, screen.splitlines()[1:])):
        if len(fields) == 1 and (fields[0] == "local" or fields[0].startswith("ssh:")):
            lines = plans.setdefault(fields[0], [])
        elif fields[0] == "note":
            break
        else:
            lines.append("experiments" if fields[:2] == ["experiment", "threads"] else " ".join(fields))
    return plans


def test_a_dry_run_shows_devices_and_folders(fleet):
    path = fleet.write()
    completed = fleet.run(path, "--dry-run")
    assert completed.returncode == 0, completed.stderr
    plans = plan_by_device(completed.stdout)
    assert list(plans) == ["local", *fleet.boards]
    for device, lines in plans.items():
        assert [line.split()[0] for line in lines[lines.index("experiments") + 1 :]] == ["off", "on"]
        assert "compare off (baseline) with on" in lines
        (output_line,) = [line for line in lines if line.startswith("into ")]
        assert output_line.startswith(f"into {fleet.root}/") and output_line.endswith("-" + device.rpartition(":")[2])
    assert "measure at the same time" in completed.stdout
    assert not fleet.root.exists()
    # Only one of the configuration's three devices.
    single_device_run = fleet.run(path, "--dry-run", "--device", "ssh:two")
    assert single_device_run.returncode == 0, single_device_run.stderr
    plans = plan_by_device(single_device_run.stdout)
    assert list(plans) == ["ssh:two"] and f"into {fleet.root}" in plans["ssh:two"]
    plan = json.loads(fleet.run(path, "--dry-run", "--json", "--max-seconds", "20").stdout)
    assert [device["device"] for device in plan["devices"]] == ["local", *fleet.boards]
    assert plan["seconds"]["at_most"] == 20  # side by side, not one after the other


def test_pairs_of_two_devices_are_refused_before_any_is_reached(fleet):
    path = fleet.write(
        experiments=[{"name": "here", "device": "local"}, {"name": "there", "device": "ssh:nowhere"}],
        analysis={"compare_pairs": [{"baseline": "here", "candidate": "there"}]},
    )
    completed = fleet.run(path)
    assert completed.returncode == 2
    assert program.one_error(completed.stderr)
    assert "clock and conditions" in completed.stderr and "side by side" in completed.stderr


def test_what_is_wrong_on_all_devices_is_said_once(fleet):
    path = fleet.write(model=str(fleet.folder / "missing.pte"))
    completed = fleet.run(path)
    assert completed.returncode == 3
    assert completed.stderr.count("missing.pte") == 1


def test_a_failing_experiment_is_told_with_its_device(fleet):
    path = fleet.write(
        experiments=[
            {"name": "good", "device": ["local", "ssh:one"], "env": {"FAKE_ETDUMP": str(ETDUMP)}},
            {"name": "bad", "device": "ssh:one", "env": {"FAKE_FAIL": "die@load"}},
        ]
    )
    completed = fleet.run(path)
    assert completed.returncode == 4, completed.stderr
    (line,) = [line for line in completed.stderr.splitlines() if "Experiment `bad` failed" in line]
    assert line.startswith("error: ssh:one: ")
    assert fleet.launches("local") == [2]


def test_a_phone_a_board_and_this_machine_by_the_real_runner(lab, tmp_path):
    phone = lab.adb("phone", abi="x86_64")
    phone.connect()
    board = lab.ssh("board")
    runner = program.etprof().parent / "etprof-runner"
    command = [program.etprof(), "profile", MODEL, "--runner", runner, "--vs", "threads=2", "--output-root", tmp_path]
    devices = [option for name in ("local", board.spec, phone.spec) for option in ("--device", name)]
    completed = lab.run([*command, *devices, "--launches", "2", "--runs", "8", "--max-seconds", "4"], timeout=600)
    assert completed.returncode == 0, completed.stderr
    assert (tmp_path / "android" / "manifest.json").exists()  # the only one of its platform
    text = (tmp_path / "devices_report.md").read_text()
    assert "Convolution" in text and phone.spec in text and board.spec in text
    for device in (board, phone):
        wait_until(lambda: device.processes() == {})  # noqa: B023
