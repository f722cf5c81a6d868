"""etprof writes and removes only its own files, and none of the user's."""

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from measure_bench import MODEL, held_worker
from program import wait_until

READERS = ("analyze", "report", "report --all", "report --json", "trace", "check", "compare", "kernels", "validate")


def snapshot(folder: Path) -> dict:
    """Returns all paths below a folder with their contents."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            contents[path] = str(path.readlink())
        elif path.is_file():
            contents[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return contents


@pytest.fixture
def killed(bench) -> Path:
    """A measurement that was killed after two launches; its ETDumps are not merged yet."""
    with held_worker(bench) as hold:
        config = bench.write([bench.experiment("a", env=hold), bench.experiment("b")], launches=8)
        process = bench.start("run", config)
        manifest = bench.out / "manifest.json"
        wait_until(lambda: manifest.exists() and len(bench.manifest()["results"][0]["launches"]) >= 2)
        process.kill()
        process.communicate()
    assert bench.manifest()["status"] == "running"
    return config


def run_reader(bench, reader: str) -> subprocess.CompletedProcess:
    """Runs a command that reads the results directory."""
    command, *options = reader.split()
    if command == "check":
        options = ["--baseline", bench.out, *options]
    if command == "compare":
        options = [bench.out, *options]
    return bench.run(command, bench.out, *options)


@pytest.mark.usefixtures("killed")
def test_reading_changes_nothing_that_was_measured(bench):
    parts = list(bench.out.glob("*/launches/*.etdump"))
    assert len(parts) >= 2
    measured = snapshot(bench.out)
    for reader in READERS:
        completed = run_reader(bench, reader)
        assert completed.returncode in (0, 1, 2, 3, 5), (reader, completed.stderr)
        after = snapshot(bench.out)
        assert {path: after.get(path) for path in measured} == measured, reader
    summary = json.loads((bench.out / "analysis_summary.json").read_text())
    assert all(experiment["operators"] for experiment in summary["experiments"]), "the parts were read"
    # `recover` recovers a killed measurement once.
    assert bench.run("recover", bench.out).returncode == 0
    assert not list(bench.out.glob("*/launches"))
    assert bench.manifest()["status"] == "interrupted"
    second = bench.run("recover", bench.out)
    assert second.returncode == 0
    assert "nothing to recover" in second.stdout
    (recovered,) = json.loads(bench.run("recover", bench.out, "--json").stdout)["runs"]
    assert (recovered["run"], recovered["recovered"], recovered["ok"]) == (str(bench.out), False, True)
    assert bench.run("recover", bench.out, "--csv", "runs").stdout.startswith("results,run,result,broken,warnings\n")


@pytest.mark.parametrize("part", ["link/thesis.txt", "link/a.etdump", "thesis.txt", "../canary/thesis.txt"])
def test_a_manifest_that_names_a_file_of_the_users(bench, killed, part):
    canary = bench.folder / "canary"
    canary.mkdir()
    (canary / "thesis.txt").write_text("precious")
    shutil.copy(next(bench.out.glob("a/launches/*.etdump")), canary / "a.etdump")
    (bench.out / "thesis.txt").write_text("precious")
    (bench.out / "link").symlink_to(canary)
    manifest = bench.manifest()
    manifest["results"][0]["launches"][0]["etdump_part"] = part
    (bench.out / "manifest.json").write_text(json.dumps(manifest))
    outside, inside = snapshot(canary), (bench.out / "thesis.txt").read_text()
    for reader in READERS:
        run_reader(bench, reader)
        assert snapshot(canary) == outside, reader
    for command in (["recover", bench.out], ["run", killed, "--resume"]):
        bench.run(*command)
        assert snapshot(canary) == outside, command
        assert (bench.out / "thesis.txt").read_text() == inside


@pytest.mark.usefixtures("killed")
def test_a_folder_that_is_a_link_is_not_recovered_into(bench):
    moved = bench.folder / "away"
    (bench.out / "a").rename(moved)
    (bench.out / "a").symlink_to(moved)
    before = snapshot(moved)
    for reader in READERS:
        run_reader(bench, reader)
    assert snapshot(moved) == before
    bench.run("recover", bench.out)
    assert snapshot(moved) == before


@pytest.mark.usefixtures("killed")
def test_a_part_that_cannot_be_read_for_a_moment_is_kept(bench):
    part = next(bench.out.glob("a/launches/*.etdump"))
    content = part.read_bytes()
    part.write_bytes(content[:100])
    assert bench.run("recover", bench.out).returncode in (0, 4)
    assert part.exists()
    part.write_bytes(content)
    assert bench.run("recover", bench.out).returncode == 0
    assert not part.exists()


def test_tables_of_etdumps_from_elsewhere_go_into_the_run_directory(bench):
    config = bench.write([bench.experiment("a")], launches=2)
    assert bench.run("run", config).returncode == 0
    outside_folder = bench.folder / "elsewhere"
    outside_folder.mkdir()
    etdump = next(bench.out.glob("a/*.etdump"))
    etdump.rename(outside_folder / "mine.etdump")
    (outside_folder / "mine_exec_ops_stats.csv").write_text("my own table")
    manifest = bench.manifest()
    manifest["results"][0]["etdump"] = str(outside_folder / "mine.etdump")
    (bench.out / "manifest.json").write_text(json.dumps(manifest))
    before = snapshot(outside_folder)
    completed = bench.run("analyze", bench.out)
    assert completed.returncode == 0, completed.stderr
    assert snapshot(outside_folder) == before
    assert (bench.out / "mine_exec_ops_stats.csv").read_text() != "my own table"


def test_etdumps_of_others_below_the_run_directory_are_left_alone(bench):
    bench.out.mkdir()
    for folder in ("data", "data/deep"):
        (bench.out / folder).mkdir()
        shutil.copy(MODEL.with_name("toy_cnn.t1.etdump"), bench.out / folder / "mine.etdump")
    before = snapshot(bench.out / "data")
    assert bench.run("run", bench.write([bench.experiment("a")], launches=2)).returncode == 0
    assert bench.run("analyze", bench.out).returncode == 0
    assert snapshot(bench.out / "data") == before
    assert [each["name"] for each in json.loads((bench.out / "analysis_summary.json").read_text())["experiments"]] == [
        "a"
    ]


def test_a_full_disk_before_the_first_manifest_doubles_nothing(bench):
    """The launch's latencies were appended, and the manifest could not be written after them."""
    config = bench.write([bench.experiment("a")], launches=3)
    assert bench.run("run", config).returncode == 0
    file = next(bench.out.glob("a/*_t1_latency.csv"))
    rows = file.read_text().splitlines()
    manifest = bench.manifest()
    manifest["status"] = "running"
    manifest["results"][0] |= {"launches": [], "latency_csv": None, "etdump": None, "etdump_runs": []}
    (bench.out / "manifest.json").write_text(json.dumps(manifest))
    completed = bench.run("run", config, "--resume")
    assert completed.returncode == 0, completed.stderr
    assert len(file.read_text().splitlines()) == len(rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "RUN", "-o"],
        ["report", "RUN", "--brief", "--out"],
        ["report", "RUN", "--out"],
        ["check", "RUN", "--baseline", "RUN", "--junit"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
class TestOutputs:
    """Options that name an output file."""

    @pytest.fixture
    def command(self, bench, arguments) -> list:
        assert bench.run("run", bench.write([bench.experiment("a"), bench.experiment("b")], launches=3)).returncode == 0
        return [bench.out if word == "RUN" else word for word in arguments]

    def test_devices_stay_devices(self, bench, command):
        null = bench.folder / "null"
        if os.geteuid() == 0:
            os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        else:
            null = Path("/dev/null")
        completed = bench.run(*command, null)
        assert completed.returncode in (0, 5), completed.stderr
        assert null.is_char_device()

    def test_the_standard_output(self, bench, command):
        for name in ("-", "/dev/stdout"):
            completed = subprocess.run(
                [bench.etprof, *command, name], capture_output=True, cwd=bench.folder, timeout=2400
            )
            assert completed.returncode in (0, 5), completed.stderr
            assert len(completed.stdout) > 100
        assert not (bench.folder / "-").exists()

    def test_a_pipe_and_a_link(self, bench, command):
        pipe = bench.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["/bin/cat", pipe], stdout=subprocess.PIPE) as cat:
            assert bench.run(*command, pipe).returncode in (0, 5)
            piped, _ = cat.communicate(timeout=240)
        assert pipe.is_fifo()
        (bench.folder / "there").mkdir()
        target = bench.folder / "there" / "file"
        target.touch()
        target.chmod(0o640)
        link = bench.folder / "link"
        link.symlink_to(target)
        assert bench.run(*command, link).returncode in (0, 5)
        assert link.is_symlink()
        assert target.stat().st_mode & 0o777 == 0o640
        assert len(target.read_bytes()) == len(piped) > 100
        assert list(target.parent.iterdir()) == [target]

    def test_a_socket(self, bench, command):
        place = Path(f"/tmp/etprof-test-{os.getpid()}.sock")  # noqa: S108 - the path of a socket is short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
            try:
                server.listen(1)
                server.settimeout(240)
                process = bench.start(*command, place)
                connection, _ = server.accept()
                received = b""
                while piece := connection.recv(65536):
                    received += piece
                process.communicate()
                assert process.returncode in (0, 5)
                assert len(received) > 100
                assert place.is_socket()
            finally:
                place.unlink()

    def test_a_full_output_device(self, bench, command):
        completed = bench.run(*command, "/dev/full")
        assert completed.returncode == 4
        assert "No space left" in completed.stderr


def test_a_killed_writer_leaves_nothing_for_long(bench):
    config = bench.write([bench.experiment("a")], launches=2)
    assert bench.run("run", config).returncode == 0
    for folder in (bench.out, bench.out / "a"):
        (folder / ".etprof-999999999-0123456789abcdef.tmp").write_text("half")
    assert bench.run("validate", bench.out).returncode == 0
    (bench.out / "mine.tmp.txt").write_text("mine")
    assert bench.run("run", config).returncode == 0
    assert not list(bench.out.glob("**/.etprof-*.tmp"))
    assert (bench.out / "mine.tmp.txt").read_text() == "mine"


def test_an_interruption_before_the_first_launch_leaves_a_run_that_validates(bench):
    config = bench.write([bench.experiment("a", env={"FAKE_SLEEP": "0.3"})])
    process = bench.start("run", config)
    # The first launch only reports the runner's properties.
    wait_until(lambda: (bench.folder / "state_a").exists() and len(list((bench.folder / "state_a").iterdir())) >= 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    assert bench.manifest()["status"] == "interrupted"
    completed = bench.run("validate", bench.out)
    assert completed.returncode == 0, completed.stdout


def test_processes_of_a_third_party_runner_end_with_etprof(bench, tmp_path):
    """Kills etprof with -9. The runner is a child of a wrapper, so no signal of the system reaches it."""
    wrapper = tmp_path / "wrapper"
    pid = tmp_path / "pid"
    wrapper.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >{pid}\nwait\n")
    wrapper.chmod(0o755)
    config = bench.write([{"name": "a", "runner_path": str(wrapper), "runs": 3}], timeout_seconds=60)
    process = bench.start("run", config)
    wait_until(lambda: pid.exists() and pid.read_text().strip())
    child = int(pid.read_text())
    process.kill()
    process.communicate()

    def check_removed() -> bool:
        try:
            return Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:  # the process has ended, or ends meanwhile
            return True

    wait_until(check_removed)
