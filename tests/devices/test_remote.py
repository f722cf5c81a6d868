"""etprof on devices behind a real sshd and a real adbd: what it leaves there, and what a broken connection leaves."""

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
    Watched,
    launches,
    left_nothing,
    manifest,
    profile,
    run_folders,
    runner,
    wait_until,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "runner"))
import program
from runner_bench import library, skip


@pytest.fixture
def phone(lab):
    """A phone for which this machine's runner is built."""
    made = lab.adb("phone", abi="x86_64")
    made.connect()
    return made


@pytest.fixture(params=["board", "phone"])
def device(request):
    return request.getfixturevalue(request.param)


def test_a_device_is_measured_as_this_machine_is(lab, device, tmp_path):
    done = lab.run(profile(device, tmp_path / "run", "--vs", "threads=2", *SHORT))
    assert done.returncode == 0, done.stderr
    told = manifest(tmp_path / "run")
    assert told["device"]["name"] == device.spec
    assert launches(tmp_path / "run", "complete") >= 4
    assert device.spec.startswith("adb") == (told["platform"] == "android")
    left_nothing(device)
    assert lab.run([program.etprof(), "validate", tmp_path / "run"]).returncode == 0
    # The operators came over too. (Where the machine is so busy that no traced run is clean, only --all shows their table.)
    screen = lab.run([program.etprof(), "report", tmp_path / "run", "--all"])
    assert "Convolution" in screen.stdout, screen.stderr


def moved_bytes(lab) -> int:
    """What the loopback of the lab's network has carried."""
    for line in lab.run(["cat", "/proc/net/dev"]).stdout.splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[0])
    raise AssertionError("no loopback")


def test_what_is_there_is_not_pushed_again(lab, phone, tmp_path):
    """What has to do with the cache moves under 10 kB the second time, and the whole command little more."""
    client, log = tmp_path / "adb", tmp_path / "calls"
    client.write_text(
        f"""#!/bin/sh
case " $* " in *" push "*) echo push >>{log};; *cache*) printf %s "$*" | wc -c >>{log};; esac
exec adb "$@"
"""
    )
    client.chmod(0o755)
    command = ["env", f"ETPROF_ADB={client}", program.etprof(), "isa", "--device", phone.spec, "--runner", runner()]
    moved, calls = [], []
    for _ in range(2):
        log.write_text("")
        before = moved_bytes(lab)
        done = lab.run([*command, "--json"])
        assert done.returncode == 0, done.stderr
        moved.append(moved_bytes(lab) - before)
        calls.append(log.read_text().split())
    assert "push" in calls[0]
    assert moved[0] > runner().stat().st_size
    assert "push" not in calls[1]
    assert 0 < sum(map(int, calls[1])) < 10_000
    # All else of the command too: scripts, what the device says of itself, the runner's answer. Every byte goes over
    # this loopback twice, from the client to its server and from there to the phone.
    assert moved[1] / 2 < 24_000


def test_a_pushed_file_that_changed_is_pushed_again(lab, phone, tmp_path):
    model = tmp_path / "toy.pte"
    model.write_bytes(MODEL.read_bytes())
    for _ in range(2):
        command = profile(phone, tmp_path / "run", *SHORT)
        command[2] = str(model)
        assert lab.run(command).returncode == 0
        with model.open("ab") as file:
            file.write(b"\0" * 16)  # flatbuffers do not mind what follows
    assert len({name.split("/")[1] for name in phone.files() if name.endswith("toy.pte")}) == 2


def test_releases_of_executorch_are_pushed_with_the_runner(lab, board, phone, tmp_path):
    release = ["--vs", "executorch=1.4.1"]
    # Here, where there is a network.
    here = [program.etprof(), "profile", MODEL, *release, "--max-seconds", "2", "--output-root", tmp_path / "here"]
    fetched = subprocess.run(list(map(str, here)), capture_output=True, text=True, check=False)
    if "could not fetch" in fetched.stderr:
        skip(f"pip cannot fetch executorch: {fetched.stderr}")
    assert fetched.returncode == 0, fetched.stderr
    releases = [*release, "--vs", "executorch=1.4.1,threads=2"]
    done = lab.run(profile(board, tmp_path / "run", *releases, *SHORT))
    assert done.returncode == 0, done.stderr
    ran = {
        each["experiment"]: (each["executorch_version"], each["etdump"], each["executorch_libraries"])
        for each in manifest(tmp_path / "run")["results"]
    }
    assert [version for version, _, _ in ran.values()].count("1.4.1") == 2
    for version, etdump, libraries in ran.values():
        assert etdump
        there = [each["path"].startswith(f"{board.folder}/cache/") for each in libraries]
        assert all(there) == any(there) == (version == "1.4.1")
    left_nothing(board)
    refused = lab.run(profile(phone, tmp_path / "phone", *release, *SHORT))
    assert refused.returncode == 2
    error, hint = refused.stderr.splitlines()[-2:]
    assert error.startswith(f"error: `executorch=` needs a device with Linux, and `{phone.spec}` is android"), error
    assert "etprof build --executorch DIR" in hint and "--vs runner=PATH" in hint


def test_two_at_once_on_one_device(lab, device, tmp_path):
    both = [Watched(lab, tmp_path / name, profile(device, tmp_path / name, *SHORT)) for name in ("one", "two")]
    assert [watched.end() for watched in both] == [0, 0], [watched.text() for watched in both]
    left_nothing(device)
    digests = [name.split("/")[1] for name in device.files() if name.endswith("etprof-runner")]
    assert len(digests) == 1 and not [name for name in device.files() if ".part" in name]


def test_a_connection_cut_while_measuring(lab, device, tmp_path):
    folder = tmp_path / "run"
    watched = Watched(lab, folder, profile(device, folder, "--launches", "4", "--max-seconds", "200"))
    watched.wait_for_a_launch(folder)
    device.stop()
    watched.wait_for("the connection was lost")
    device.start()
    assert watched.end() == 0, watched.text()
    assert launches(folder, "complete") >= 4 and "the connection was lost" in watched.text()
    left_nothing(device)
    assert lab.run([program.etprof(), "validate", folder]).returncode == 0


def test_a_device_that_does_not_come_back(lab, device, tmp_path):
    folder = tmp_path / "run"
    command = profile(device, folder, "--launches", "4", "--max-seconds", "200", "--wait-for-device", "1")
    watched = Watched(lab, folder, command)
    watched.wait_for_a_launch(folder)
    device.stop()
    assert watched.end() == 4
    error, hint = watched.text().splitlines()[-2:]
    assert error.startswith(f"error: `{device.spec}`") and "did not come back" in error
    assert hint.startswith("hint: ") and "--resume" in hint
    assert launches(folder, "complete") >= 1
    device.start()
    assert lab.run([*command, "--resume"]).returncode == 0
    assert launches(folder, "complete") >= 4
    left_nothing(device)


def test_a_silent_connection_is_a_lost_one(lab, board, tmp_path):
    """As when a cable is pulled: nothing says that it is gone."""
    folder = tmp_path / "run"
    command = profile(board, folder, "--launches", "3", "--max-seconds", "200", "--wait-for-device", "40")
    watched = Watched(lab, folder, command)
    watched.wait_for_a_launch(folder)
    board.freeze()
    watched.wait_for("the connection was lost")
    board.stop()
    board.start()
    assert watched.end() == 0, watched.text()
    assert launches(folder, "complete") >= 3


def test_a_connection_cut_in_the_middle_of_a_push(lab, device, tmp_path):
    data = tmp_path / "large.ptd"
    data.touch()
    os.truncate(data, 400_000_000)  # a sparse file; longer on its way than the freeze below takes
    folder = tmp_path / "run"
    command = profile(device, folder, *SHORT, "--data", str(data), "--wait-for-device", "60")
    watched = Watched(lab, folder, command)
    wait_until(lambda: any("large.ptd" in name for name in device.files()))
    device.freeze()
    assert [name for name in device.files() if ".part" in name], "the push was not in its middle"
    device.stop()
    watched.wait_for("the connection was lost")
    device.start()
    watched.end()
    assert "did not come back" not in watched.text()
    assert not [name for name in device.files() if ".part" in name]
    left_nothing(device)


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
    watched = Watched(lab, folder, command)
    wait_until(pulling.exists)
    phone.stop()
    go.touch()
    watched.wait_for("the connection was lost")
    phone.start()
    assert watched.end() == 0, watched.text()
    assert launches(folder, "complete") >= 2
    left_nothing(phone)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_etprof_that_is_stopped_leaves_nothing_running(lab, device, tmp_path, how):
    folder = tmp_path / "run"
    watched = Watched(lab, folder, profile(device, folder, "--launches", "6", "--max-seconds", "60"))
    watched.wait_for_a_launch(folder)
    assert device.processes() != {}
    watched.process.send_signal(how)
    assert watched.end() == (130 if how == signal.SIGINT else -signal.SIGKILL)
    left_nothing(device)
    assert launches(folder, "complete") >= 1


def test_what_a_wrapper_leaves_running_is_ended(lab, device, tmp_path):
    wrapper = "sh -c 'sleep 3600 >/dev/null 2>&1 & exec \"$@\"' sh"
    done = lab.run(profile(device, tmp_path / "run", *SHORT, "--exec-wrapper", wrapper))
    assert done.returncode == 0, done.stderr
    left_nothing(device)


def test_a_device_whose_disk_is_full(lab, device, tmp_path):
    device.full_disk(1_000_000)
    done = lab.run(profile(device, tmp_path / "run", *SHORT))
    assert done.returncode == 4
    assert "No space left" in done.stderr and "etprof devices --clean" in done.stderr
    assert not [name for name in device.files() if ".part" in name]


def test_keep_leaves_the_runs_folder(lab, device, tmp_path):
    assert lab.run(profile(device, tmp_path / "run", *SHORT, "--keep")).returncode == 0
    assert run_folders(device) != []
    # The next one leaves it, too.
    assert lab.run(profile(device, tmp_path / "run", *SHORT)).returncode == 0
    assert run_folders(device) != []


def test_cpus_by_the_name_of_their_cluster(lab, phone, tmp_path):
    """The phone's CPU 0 is the little one, CPU 1 the big one."""
    used = {}
    for name in ("little", "big"):
        folder = tmp_path / name
        assert lab.run(profile(phone, folder, *SHORT, "--cpus", name)).returncode == 0
        bursts = [b for r in manifest(folder)["results"] for launch in r["launches"] for b in launch["bursts"]]
        used[name] = {burst[when] for burst in bursts for when in ("cpu_start", "cpu_end")}
    assert used == {"little": {0}, "big": {1}}
    done = lab.run(profile(phone, tmp_path / "mid", *SHORT, "--cpus", "mid"))
    assert done.returncode == 3
    assert 'has no CPUs called "mid"' in done.stderr and "(big)" in done.stderr


@pytest.mark.parametrize(
    ("name", "code", "words"),
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
def test_a_device_that_is_not_there(lab, tmp_path, name, code, words):
    done = lab.run([program.etprof(), "profile", MODEL, "--device", name], cwd=tmp_path)
    assert done.returncode == code
    assert words in program.one_error(done.stderr)


def test_a_runner_of_another_architecture(lab, board, tmp_path):
    other = tmp_path / "etprof-runner"
    elf = bytearray(runner().read_bytes()[:4096])
    elf[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    other.write_bytes(elf)
    other.chmod(0o755)
    command = profile(board, tmp_path / "run", *SHORT)
    command[command.index("--runner") + 1] = str(other)
    done = lab.run(command)
    assert done.returncode == 3
    assert "is a program for aarch64" in program.one_error(done.stderr)


def test_libraries_are_put_on_the_device(lab, device, tmp_path):
    """A kernel of the user's own, in a program that nothing else runs."""
    models = tmp_path / "models"
    models.mkdir()
    made = lab.run([sys.executable, program.ROOT / "tests/runner/models.py", models])
    assert made.returncode == 0, made.stderr
    kernel = library(tmp_path, "custom_kernel.cc")
    words = [program.etprof(), "profile", models / "missing_operator.pte", "--device", device.spec]
    words += ["--runner", runner(), "--no-peaks", *SHORT]
    without = lab.run([*words, "--output-root", tmp_path / "without"])
    assert without.returncode == 4
    assert "operator etprof_test::nowhere.out is not registered" in without.stderr
    done = lab.run([*words, "--load", kernel, "--output-root", tmp_path / "run"])
    assert done.returncode == 0, done.stderr
    assert launches(tmp_path / "run", "complete") >= 2
    left_nothing(device)
    # A configuration says the same, by a path beside it, and of other contents it is another measurement.
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
    done = lab.run(command)
    assert done.returncode == 0, done.stderr
    library(tmp_path, "custom_kernel.cc", ET_EVENT_TRACER_ENABLED="1")
    done = lab.run([*command, "--resume"])
    assert done.returncode != 0
    assert "another configuration" in done.stderr
