"""etprof on devices behind a real sshd and a real adbd: files and processes that it leaves, also after a broken connection."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from remote_bench import (
    MODEL,
    SHORT,
    EtprofProcess,
    launches,
    manifest,
    profile,
    run_folders,
    runner,
    wait_until,
    wait_until_clean,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runner"))
import program
from runner_bench import library, skip


@pytest.fixture
def phone(lab):
    """A phone for which this machine's runner is built."""
    device = lab.adb("phone", abi="x86_64")
    device.connect()
    return device


@pytest.fixture(params=["board", "phone"])
def device(request):
    return request.getfixturevalue(request.param)


def test_a_device_is_measured_as_this_machine_is(lab, device, tmp_path):
    completed = lab.run(profile(device, tmp_path / "run", "--vs", "threads=2", *SHORT))
    assert completed.returncode == 0, completed.stderr
    run_manifest = manifest(tmp_path / "run")
    assert run_manifest["device"]["name"] == device.spec
    assert launches(tmp_path / "run", "complete") >= 4
    assert device.spec.startswith("adb") == (run_manifest["platform"] == "android")
    wait_until_clean(device)
    assert lab.run([program.etprof(), "validate", tmp_path / "run"]).returncode == 0
    # The operators were fetched, too. (If no traced run was clean on a busy machine, only --all shows their table.)
    screen = lab.run([program.etprof(), "report", tmp_path / "run", "--all"])
    assert "Convolution" in screen.stdout, screen.stderr


def loopback_bytes(lab) -> int:
    """The bytes that the loopback of the lab's network has received so far."""
    for line in lab.run(["cat", "/proc/net/dev"]).stdout.splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[0])
    raise AssertionError("no loopback")


def test_what_is_there_is_not_pushed_again(lab, phone, tmp_path):
    """The second time, commands of the cache move less than 10 kB, and the whole etprof command little more."""
    client, log = tmp_path / "adb", tmp_path / "calls"
    client.write_text(
        f"""#!/bin/sh
case " $* " in *" push "*) echo push >>{log};; *cache*) printf %s "$*" | wc -c >>{log};; esac
exec adb "$@"
"""
    )
    client.chmod(0o755)
    command = ["env", f"ETPROF_ADB={client}", program.etprof(), "isa", "--device", phone.spec, "--runner", runner()]
    moved_byte_counts, calls = [], []
    for _ in range(2):
        log.write_text("")
        before = loopback_bytes(lab)
        completed = lab.run([*command, "--json"])
        assert completed.returncode == 0, completed.stderr
        moved_byte_counts.append(loopback_bytes(lab) - before)
        calls.append(log.read_text().split())
    assert "push" in calls[0]
    assert moved_byte_counts[0] > runner().stat().st_size
    assert "push" not in calls[1]
    assert 0 < sum(map(int, calls[1])) < 10_000
    # The total includes scripts, the device's properties, and the runner's answer. Every byte passes the loopback twice:
    # from the client to adb's server, and from there to the phone.
    assert moved_byte_counts[1] / 2 < 24_000


def test_a_pushed_file_that_changed_is_pushed_again(lab, phone, tmp_path):
    model = tmp_path / "toy.pte"
    model.write_bytes(MODEL.read_bytes())
    for _ in range(2):
        command = profile(phone, tmp_path / "run", *SHORT)
        command[2] = str(model)
        assert lab.run(command).returncode == 0
        with model.open("ab") as file:
            file.write(b"\0" * 16)  # FlatBuffers ignore trailing bytes
    assert len({name.split("/")[1] for name in phone.files() if name.endswith("toy.pte")}) == 2


def test_a_model_with_a_backslash_in_its_name(lab, device, tmp_path):
    """sha256sum escapes such a name, and begins its line with a backslash."""
    model = tmp_path / "a\\b.pte"
    model.write_bytes(MODEL.read_bytes())
    command = profile(device, tmp_path / "run", *SHORT)
    command[2] = str(model)
    completed = lab.run(command)
    assert completed.returncode == 0, completed.stderr


def test_releases_of_executorch_are_pushed_with_the_runner(lab, board, phone, tmp_path):
    release = ["--vs", "executorch=1.4.1"]
    # Fetch the release on this machine, which has a network.
    command = [program.etprof(), "profile", MODEL, *release, "--max-seconds", "2", "--output-root", tmp_path / "here"]
    local_run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if "could not fetch" in local_run.stderr:
        skip(f"pip cannot fetch executorch: {local_run.stderr}")
    assert local_run.returncode == 0, local_run.stderr
    releases = [*release, "--vs", "executorch=1.4.1,threads=2"]
    completed = lab.run(profile(board, tmp_path / "run", *releases, *SHORT))
    assert completed.returncode == 0, completed.stderr
    results = {
        result["experiment"]: (result["executorch_version"], result["etdump"], result["executorch_libraries"])
        for result in manifest(tmp_path / "run")["results"]
    }
    assert [version for version, _, _ in results.values()].count("1.4.1") == 2
    for version, etdump, libraries in results.values():
        assert etdump
        is_on_board = [result["path"].startswith(f"{board.folder}/cache/") for result in libraries]
        assert all(is_on_board) == any(is_on_board) == (version == "1.4.1")
    wait_until_clean(board)
    rejection = lab.run(profile(phone, tmp_path / "phone", *release, *SHORT))
    assert rejection.returncode == 2
    error, hint = rejection.stderr.splitlines()[-2:]
    assert error.startswith(f"error: `executorch=` needs a device with Linux, and `{phone.spec}` is android"), error
    assert "etprof build --executorch DIR" in hint and "--vs runner=PATH" in hint


def test_two_at_once_on_one_device(lab, device, tmp_path):
    runs = [EtprofProcess(lab, tmp_path / name, profile(device, tmp_path / name, *SHORT)) for name in ("one", "two")]
    assert [etprof_process.end() for etprof_process in runs] == [0, 0], [
        etprof_process.text() for etprof_process in runs
    ]
    wait_until_clean(device)
    digests = [name.split("/")[1] for name in device.files() if name.endswith("etprof-runner")]
    assert len(digests) == 1 and not [name for name in device.files() if ".part" in name]


def test_a_connection_cut_while_measuring(lab, device, tmp_path):
    folder = tmp_path / "run"
    etprof_process = EtprofProcess(lab, folder, profile(device, folder, "--launches", "4", "--max-seconds", "200"))
    etprof_process.wait_for_a_launch(folder)
    device.stop()
    etprof_process.wait_for("the connection was lost")
    device.start()
    assert etprof_process.end() == 0, etprof_process.text()
    assert launches(folder, "complete") >= 4 and "the connection was lost" in etprof_process.text()
    wait_until_clean(device)
    assert lab.run([program.etprof(), "validate", folder]).returncode == 0


def test_a_device_that_does_not_come_back(lab, device, tmp_path):
    folder = tmp_path / "run"
    command = profile(device, folder, "--launches", "4", "--max-seconds", "200", "--wait-for-device", "1")
    etprof_process = EtprofProcess(lab, folder, command)
    etprof_process.wait_for_a_launch(folder)
    device.stop()
    assert etprof_process.end() == 4
    error, hint = etprof_process.text().splitlines()[-2:]
    assert error.startswith(f"error: `{device.spec}`") and "did not come back" in error
    assert hint.startswith("hint: ") and "--resume" in hint
    assert launches(folder, "complete") >= 1
    device.start()
    assert lab.run([*command, "--resume"]).returncode == 0
    assert launches(folder, "complete") >= 4
    wait_until_clean(device)


@pytest.mark.parametrize(("seconds", "enough"), [("200", 3), ("4", 2)], ids=["connection first", "worker first"])
def test_a_silent_connection_is_a_lost_one(lab, board, tmp_path, seconds, enough):
    """As with a pulled cable, no packet reports the end of the connection. After a short time limit, the worker counts as hung
    before the connection counts as lost."""
    folder = tmp_path / "run"
    command = profile(board, folder, "--launches", "3", "--max-seconds", seconds, "--wait-for-device", "40")
    etprof_process = EtprofProcess(lab, folder, command)
    etprof_process.wait_for_a_launch(folder)
    board.freeze()
    etprof_process.wait_for("the connection was lost")
    board.stop()
    board.start()
    assert etprof_process.end() == 0, etprof_process.text()
    assert launches(folder, "complete") >= enough


def test_a_connection_cut_in_the_middle_of_a_push(lab, device, tmp_path):
    data = tmp_path / "large.ptd"
    data.touch()
    os.truncate(data, 400_000_000)  # a sparse file, large enough that the push still runs at the freeze below
    folder = tmp_path / "run"
    command = profile(device, folder, *SHORT, "--data", str(data), "--wait-for-device", "60")
    etprof_process = EtprofProcess(lab, folder, command)
    wait_until(lambda: any("large.ptd" in name for name in device.files()))
    device.freeze()
    assert [name for name in device.files() if ".part" in name], "the push was not in its middle"
    device.stop()
    etprof_process.wait_for("the connection was lost")
    device.start()
    etprof_process.end()
    assert "did not come back" not in etprof_process.text()
    assert not [name for name in device.files() if ".part" in name]
    wait_until_clean(device)


def test_a_connection_cut_in_the_middle_of_a_pull(lab, phone, tmp_path):
    """The client waits before its first pull until the daemon has gone and come back."""
    client, pulling, go = tmp_path / "adb", tmp_path / "pulling", tmp_path / "go"
    client.write_text(
        f"""#!/bin/sh
case " $* " in *" pull "*) if [ ! -e {pulling} ]; then : >{pulling}; while [ ! -e {go} ]; do sleep 0.05; done; fi;; esac
exec adb "$@"
"""
    )
    client.chmod(0o755)
    folder = tmp_path / "run"
    command = ["env", f"ETPROF_ADB={client}", *profile(phone, folder, "--launches", "2", "--max-seconds", "20")]
    etprof_process = EtprofProcess(lab, folder, command)
    wait_until(pulling.exists)
    phone.stop()
    go.touch()
    etprof_process.wait_for("the connection was lost")
    phone.start()
    assert etprof_process.end() == 0, etprof_process.text()
    assert launches(folder, "complete") >= 2
    wait_until_clean(phone)


@pytest.mark.parametrize("signal_to_send", [signal.SIGINT, signal.SIGKILL])
def test_an_etprof_that_is_stopped_leaves_nothing_running(lab, device, tmp_path, signal_to_send):
    folder = tmp_path / "run"
    etprof_process = EtprofProcess(lab, folder, profile(device, folder, "--launches", "6", "--max-seconds", "60"))
    etprof_process.wait_for_a_launch(folder)
    assert device.processes() != {}
    etprof_process.process.send_signal(signal_to_send)
    assert etprof_process.end() == (130 if signal_to_send == signal.SIGINT else -signal.SIGKILL)
    wait_until_clean(device)
    assert launches(folder, "complete") >= 1


def test_what_a_wrapper_leaves_running_is_ended(lab, device, tmp_path):
    wrapper = "sh -c 'sleep 3600 >/dev/null 2>&1 & exec \"$@\"' sh"
    completed = lab.run(profile(device, tmp_path / "run", *SHORT, "--exec-wrapper", wrapper))
    assert completed.returncode == 0, completed.stderr
    wait_until_clean(device)


def test_a_device_whose_disk_is_full(lab, device, tmp_path):
    device.full_disk(1_000_000)
    completed = lab.run(profile(device, tmp_path / "run", *SHORT))
    assert completed.returncode == 4
    assert "No space left" in completed.stderr and "etprof devices --clean" in completed.stderr
    assert not [name for name in device.files() if ".part" in name]


def test_keep_leaves_the_runs_folder(lab, device, tmp_path):
    assert lab.run(profile(device, tmp_path / "run", *SHORT, "--keep")).returncode == 0
    assert run_folders(device) != []
    # The next run does not remove the folder.
    assert lab.run(profile(device, tmp_path / "run", *SHORT)).returncode == 0
    assert run_folders(device) != []


def test_cpus_by_the_name_of_their_cluster(lab, phone, tmp_path):
    """CPU 0 of the phone is the little cluster, and CPU 1 the big cluster."""
    used_cpus = {}
    for name in ("little", "big"):
        folder = tmp_path / name
        assert lab.run(profile(phone, folder, *SHORT, "--cpus", name)).returncode == 0
        bursts = [b for r in manifest(folder)["results"] for launch in r["launches"] for b in launch["bursts"]]
        used_cpus[name] = {burst[when] for burst in bursts for when in ("cpu_start", "cpu_end")}
    assert used_cpus == {"little": {0}, "big": {1}}
    completed = lab.run(profile(phone, tmp_path / "mid", *SHORT, "--cpus", "mid"))
    assert completed.returncode == 3
    assert 'has no CPUs called "mid"' in completed.stderr and "(big)" in completed.stderr


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("pi5", 2, "Unknown device `"),
        ("ssh:", 2, "Unknown device `"),
        ("ssh:-oProxyCommand=touch", 2, "Unknown device `"),
        ("ssh:nowhere.invalid", 4, "cannot be reached"),
        ("adb:nosuchserial", 4, "cannot be reached"),
        ("adb:127.0.0.1:1", 4, "cannot be reached"),
    ],
)
@pytest.mark.usefixtures("phone")
def test_a_device_that_is_not_there(lab, tmp_path, name, code, message):
    completed = lab.run([program.etprof(), "profile", MODEL, "--device", name], cwd=tmp_path)
    assert completed.returncode == code
    assert message in program.one_error(completed.stderr)


def test_a_runner_of_another_architecture(lab, board, tmp_path):
    other = tmp_path / "etprof-runner"
    elf = bytearray(runner().read_bytes()[:4096])
    elf[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    other.write_bytes(elf)
    other.chmod(0o755)
    command = profile(board, tmp_path / "run", *SHORT)
    command[command.index("--runner") + 1] = str(other)
    completed = lab.run(command)
    assert completed.returncode == 3
    assert "is a program for aarch64" in program.one_error(completed.stderr)


def test_libraries_are_put_on_the_device(lab, device, tmp_path):
    """The program needs a kernel of the user's library."""
    models = tmp_path / "models"
    models.mkdir()
    export = lab.run([sys.executable, program.ROOT / "tests/runner/models.py", models, "missing_operator"])
    assert export.returncode == 0, export.stderr
    kernel = library(tmp_path, "custom_kernel.cc")
    options = [program.etprof(), "profile", models / "missing_operator.pte", "--device", device.spec]
    options += ["--runner", runner(), "--no-peaks", *SHORT]
    without_library = lab.run([*options, "--output-root", tmp_path / "without"])
    assert without_library.returncode == 4
    assert "operator etprof_test::nowhere.out is not registered" in without_library.stderr
    completed = lab.run([*options, "--load", kernel, "--output-root", tmp_path / "run"])
    assert completed.returncode == 0, completed.stderr
    assert launches(tmp_path / "run", "complete") >= 2
    wait_until_clean(device)
    # A configuration names the library by a path relative to it. With other contents, it is another measurement.
    config = {"model": str(models / "missing_operator.pte"), "load": kernel.name, "runner_path": str(runner())}
    config |= {"output_root": str(tmp_path / "run"), "launches": 2, "runs": 8, "peaks": False}
    (tmp_path / "config.json").write_text(json.dumps(config | {"experiments": [{"name": "own"}]}))
    command = [
        program.etprof(),
        "run",
        tmp_path / "config.json",
        "--device",
        device.spec,
        "--output-root",
        tmp_path / "by",
    ]
    completed = lab.run(command)
    assert completed.returncode == 0, completed.stderr
    library(tmp_path, "custom_kernel.cc", ET_EVENT_TRACER_ENABLED="1")
    completed = lab.run([*command, "--resume"])
    assert completed.returncode != 0
    assert "another configuration" in completed.stderr
