"""`etprof devices`: what is reachable, what it is and how it is, and what etprof left there."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import pytest
from lab import AdbDevice, Device, Lab, SshDevice
from lab.phone import EIGHT_CPUS
from lab.processes import wait_until

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from program import etprof, parse_with_schema

ARM_CPUINFO = "".join(
    f"processor\t: {cpu}\n"
    "Features\t: fp asimd asimdhp asimddp i8mm bf16 sme sme2 smei16i32 atomics\n"
    "CPU implementer\t: 0x41\n"
    f"CPU part\t: {'0xd80' if cpu < 4 else '0xd87' if cpu < 7 else '0xd8c'}\n\n"
    for cpu in range(8)
)


@pytest.fixture(autouse=True)
def adb_server(lab: Lab) -> None:
    lab.start_adb_server()


@pytest.fixture(params=["board", "phone"])
def device(request: pytest.FixtureRequest) -> Device:
    return request.getfixturevalue(request.param)


LONG_TIMEOUT = ("--timeout", "120")  # on a busy machine, devices may need longer than the default


def devices_by_name(printed: str) -> dict[str, Any]:
    return {found["name"]: found for found in parse_with_schema("devices", printed)["devices"]}


def query_devices(lab: Lab, *arguments: str, code: int = 0, **options: Any) -> dict[str, Any]:
    """Runs `etprof devices --json`, and returns the devices by name."""
    timeout = () if "--timeout" in arguments else LONG_TIMEOUT
    completed = lab.run([etprof(), "devices", "--json", *timeout, *arguments], **options)
    assert completed.returncode == code, completed.stderr
    return devices_by_name(completed.stdout)


def start_query(lab: Lab, *devices: Device) -> subprocess.Popen[str]:
    """Starts `etprof devices --json` for these devices with a long timeout."""
    options = [option for device in devices for option in ("--device", device.spec)]
    return lab.popen([etprof(), "devices", "--json", *options, "--timeout", "600"], stdout=subprocess.PIPE, text=True)


def read_screen(lab: Lab, *arguments: str) -> str:
    completed = lab.run([etprof(), "devices", *LONG_TIMEOUT, *arguments])
    assert completed.returncode == 0, completed.stderr
    return " ".join(completed.stdout.split())  # lines are as wide as the screen


def make_path(folder: Path, *programs: str) -> dict[str, str]:
    """An environment whose PATH has only these programs."""
    folder.mkdir()
    for program in programs:
        for source_folder in ("/usr/bin", "/bin", "/usr/sbin"):
            if Path(source_folder, program).exists():
                (folder / program).symlink_to(Path(source_folder, program))
                break
    return {"PATH": str(folder)}


def test_this_machine_is_always_there(lab: Lab) -> None:
    here = query_devices(lab)["local"]
    assert here["reachable"]
    assert here["platform"] == f"linux-{os.uname().machine}"
    assert here["cores"] == sum(len(cluster["cpus"]) for cluster in here["clusters"]) > 0
    assert here["cache_bytes"] == 0
    kilobytes = {line.split(":")[0]: line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines()}
    assert here["memory_total"] == int(kilobytes["MemTotal"]) * 1024


def test_a_phone_with_three_kinds_of_cpus(lab: Lab) -> None:
    phone = lab.adb("phone", clusters=EIGHT_CPUS)
    phone.connect()
    phone.phone.store.set("proc/cpuinfo", ARM_CPUINFO)
    phone.phone.set_temperature(skin=36.5, cpu=61.0)
    phone.phone.discharge(47)
    phone.phone.set_governor("big", "performance")
    found = query_devices(lab)[phone.spec]
    assert found["platform"] == "android"
    assert found["os"] == "Android 15, etprof Lab phone"
    assert [(kind["name"], kind["cpus"], kind["max_khz"], kind["capacity"]) for kind in found["clusters"]] == [
        (cluster.name, cluster.cpus, cluster.max_khz, cluster.capacity) for cluster in EIGHT_CPUS
    ]
    assert [kind["model"] for kind in found["clusters"]] == ["Cortex-A520", "Cortex-A725", "C1-Ultra"]
    assert found["sme2"]
    assert {"sme2", "sme", "i8mm", "bf16", "dotprod", "fp16"} <= set(found["features"])
    assert "sve" not in found["features"]
    assert found["governors"] == ["performance", "sched_pixel"]
    assert (found["cpu_celsius"], found["skin_celsius"]) == (61.0, 36.5)
    assert (found["battery_percent"], found["battery_status"]) == (47, "Discharging")
    text = read_screen(lab)
    assert "4 x Cortex-A520 1.95 GHz (little): CPU 0-3, 3 x Cortex-A725 2.60 GHz (mid): CPU 4-6, 1 x C1-Ultra" in text
    assert "CPU 61.0 °C, skin 36.5 °C" in text
    assert "47% discharging" in text


def test_a_phone_without_sme2_is_not_said_to_have_it(lab: Lab, phone: AdbDevice) -> None:
    phone.phone.store.set("proc/cpuinfo", ARM_CPUINFO.replace(" sme2", ""))
    found = query_devices(lab)[phone.spec]
    assert not found["sme2"]
    assert "sme" in found["features"]


def test_a_phone_whose_sysfs_is_shut_tells_by_its_services(lab: Lab, phone: AdbDevice) -> None:
    sysfs = phone.phone.state / "sys" / "class"
    for folder in ("thermal", "power_supply"):
        (sysfs / folder).rename(sysfs / f"{folder}-shut")
    found = query_devices(lab)[phone.spec]
    assert (found["cpu_celsius"], found["skin_celsius"]) == (38.0, 31.0)
    assert (found["battery_percent"], found["battery_status"]) == (85, "Charging")


def test_a_board_is_asked_when_it_is_named(lab: Lab, board: SshDevice) -> None:
    assert list(query_devices(lab)) == ["local"]
    found = query_devices(lab, "--device", board.spec)
    assert list(found) == ["local", board.spec]
    # The board is this machine, reached by sshd.
    same = ("platform", "architecture", "os", "kernel", "cpu_model", "clusters", "features", "memory_total")
    assert {key: found[board.spec][key] for key in same} == {key: found["local"][key] for key in same}


def test_a_device_that_is_listed_and_named_is_one_row(lab: Lab, phone: AdbDevice) -> None:
    assert list(query_devices(lab, "--device", phone.spec, "--device", "adb")) == ["local", phone.spec]


def test_asking_leaves_nothing_on_the_device(lab: Lab, device: Device) -> None:
    query_devices(lab, "--device", device.spec)
    assert device.files() == {}
    assert list((device.folder / "runs").iterdir()) == []
    assert device.processes() == {}


def test_a_host_that_is_not_there_is_one_row(lab: Lab, board: SshDevice) -> None:
    found = query_devices(lab, "--device", "ssh:nowhere.invalid", "--device", board.spec, code=4)
    assert not found["ssh:nowhere.invalid"]["reachable"]
    assert "cannot be reached" in found["ssh:nowhere.invalid"]["problem"]
    assert "without a password" in found["ssh:nowhere.invalid"]["remedy"]
    assert found[board.spec]["reachable"]


def test_a_stopped_board_is_one_row(lab: Lab, board: SshDevice) -> None:
    board.stop()
    found = query_devices(lab, "--device", board.spec, code=4)[board.spec]
    assert "Connection refused" in found["problem"]


def test_a_silent_device_does_not_hold_up_the_others(lab: Lab, device: Device) -> None:
    other = lab.ssh("other")
    device.freeze()
    query = start_query(lab, device, other)
    wait_until(
        (other.folder / ".etprof").exists, "the other one to be asked"
    )  # long before the silent one's time is over
    device.thaw()
    found = devices_by_name(query.communicate(timeout=240)[0])
    assert list(found) == ["local", device.spec, other.spec]
    assert found[other.spec]["reachable"]
    device.freeze()
    found = query_devices(lab, "--device", device.spec, "--timeout", "5", code=4)
    assert found[device.spec]["problem"] == "did not answer within 5 s"
    assert "has to work" in found[device.spec]["remedy"]
    device.thaw()


def test_devices_are_asked_side_by_side(lab: Lab) -> None:
    boards = [lab.ssh(f"board{number}") for number in range(3)]
    for board in boards:
        board.freeze()
    query = start_query(lab, *boards)
    # If etprof queried the boards one after the other, it would connect to only one of them.
    wait_until(lambda: all(lab.is_connected(board.port) for board in boards), "etprof to ask all three")
    for board in boards:
        board.thaw()
    found = devices_by_name(query.communicate(timeout=240)[0])
    assert list(found) == ["local", *(board.spec for board in boards)]


def test_asking_does_not_cut_anothers_connection(lab: Lab, phone: AdbDevice) -> None:
    session = lab.popen(
        ["adb", "-s", phone.serial, "shell", "-T", "while read -r word; do echo got $word; done"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert session.stdin is not None
    assert session.stdout is not None
    for word in (b"one", b"two"):
        session.stdin.write(word + b"\n")
        session.stdin.flush()
        assert session.stdout.readline() == b"got " + word + b"\n"
        assert query_devices(lab, "--device", phone.spec)[phone.spec]["reachable"]
    session.communicate(timeout=240)


def fake_adb(folder: Path, devices: str) -> dict[str, str]:
    program = folder / "fake-adb"
    program.write_text(f"#!/bin/sh\necho 'List of devices attached'\nprintf '{devices}'\n")
    program.chmod(0o755)
    return {"ETPROF_ADB": str(program)}


def test_a_phone_that_refuses_is_listed_with_the_remedy(lab: Lab, tmp_path: Path) -> None:
    adb = fake_adb(tmp_path, r"0A04 unauthorized usb:1-2 transport_id:1\nemulator-5554 offline transport_id:2\n")
    found = query_devices(lab, env={**lab.environment, **adb})
    assert found["adb:0A04"]["problem"] == "unauthorized"
    assert "allow USB debugging" in found["adb:0A04"]["remedy"]
    assert found["adb:emulator-5554"]["problem"] == "offline"
    assert "reconnect" in found["adb:emulator-5554"]["remedy"]


def test_without_adb_the_rest_is_shown(lab: Lab, board: SshDevice, tmp_path: Path) -> None:
    environment = {**lab.environment, **make_path(tmp_path / "bin", "nsenter", "ssh", "sh", "cat", "false")}
    completed = lab.run([etprof(), "devices", "--json", "--device", board.spec], env=environment)
    assert completed.returncode == 0, completed.stderr
    result = json.loads(completed.stdout)
    assert [found["name"] for found in result["devices"]] == ["local", board.spec]
    assert all(found["reachable"] for found in result["devices"])
    assert "install adb" in result["notes"][0]


def test_ctrl_c_ends_it(lab: Lab, tmp_path: Path) -> None:
    client = tmp_path / "silent-ssh"
    client.write_text(f"#!/bin/sh\n: >{tmp_path}/started\nexec sleep 600\n")
    client.chmod(0o755)
    query = lab.popen(
        [etprof(), "devices", "--device", "ssh:board", "--timeout", "600"],
        env={**lab.environment, "ETPROF_SSH": str(client), **fake_adb(tmp_path, "")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until((tmp_path / "started").exists, "etprof to ask the board")
    query.send_signal(signal.SIGINT)
    out, errors = query.communicate(timeout=240)
    assert (query.returncode, out, errors) == (130, b"", b"Interrupted\n")


def test_a_name_that_is_none_is_a_wrong_command_line(lab: Lab) -> None:
    completed = lab.run([etprof(), "devices", "--device", "usb:1"])
    assert (completed.returncode, completed.stdout) == (2, "")
    assert "ssh:HOST" in completed.stderr


# --- files that etprof leaves on devices ---


def leave_files(device: Device) -> int:
    """Writes files as earlier runs leave them: in the cache, and of a run with --keep. Returns their bytes."""
    for path, size in {
        "cache/0123456789abcdef0123/model.pte": 70_001,
        "cache/0123456789abcdef0123/etprof-runner": 5_000,
        "runs/1700000000-0000000a/x.etdump": 321,
    }.items():
        (device.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (device.folder / path).write_bytes(b"x" * size)
    (device.folder / ".etprof").touch()
    (device.folder / "runs/1700000000-0000000a/keep").touch()
    (device.folder / "runs/1700000000-0000000a/guard").write_text("4194304\n")  # above any process number
    return 75_001 + 321 + 8


def test_the_cache_is_told(lab: Lab, device: Device) -> None:
    leave_files(device)
    found = query_devices(lab, "--device", device.spec)[device.spec]
    assert found["cache_bytes"] == 75_001
    assert found["old_runs_bytes"] == 329
    assert "freed_bytes" not in found
    assert "cache/0123456789abcdef0123/model.pte" in device.files()


def test_clean_removes_what_etprof_left(lab: Lab, device: Device) -> None:
    left = leave_files(device)
    (device.folder / "mine.txt").write_text("not etprof's")
    found = query_devices(lab, "--clean", "--device", device.spec)
    assert list(found) == [device.spec]  # the named one alone
    assert found[device.spec]["freed_bytes"] == left
    assert found[device.spec]["cache_bytes"] == found[device.spec]["old_runs_bytes"] == 0
    assert device.files() == {"mine.txt": 12}
    assert query_devices(lab, "--clean", "--device", device.spec)[device.spec]["freed_bytes"] == 0


def test_folders_that_are_not_etprofs_stay(lab: Lab, device: Device) -> None:
    user_files = [
        "runs/my_training/weights",
        "cache/mydata/photo",
        "runs/1700000000-0000000z/x",
        "cache/.part-mine/x",
        ".removed-mine/x",
    ]
    left = leave_files(device)
    for name in user_files:
        (device.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (device.folder / name).write_text("mine")
    elsewhere = device.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("mine")
    (device.folder / "cache/0123456789abcdef4567").symlink_to(elsewhere)
    old = device.folder / "runs/1700000000-0000000c"
    old.symlink_to(elsewhere)
    found = query_devices(lab, "--clean", "--device", device.spec)
    assert found[device.spec]["freed_bytes"] == left
    assert {name: size for name, size in device.files().items() if "0123456789abcdef4567" not in name} == dict.fromkeys(
        user_files, 4
    )
    assert (elsewhere / "x").read_text() == "mine"


def test_a_folder_of_that_name_that_is_somebodys_is_refused(lab: Lab, device: Device) -> None:
    (device.folder / "src").mkdir()
    (device.folder / "runs/my_training").mkdir(parents=True)
    found = query_devices(lab, "--clean", "--device", device.spec, code=4)
    assert "not a folder of etprof's: it has src" in found[device.spec]["problem"]
    assert (device.folder / "runs/my_training").is_dir()
    assert not (device.folder / "cache").exists()


def test_clean_without_names_cleans_all_that_is_reachable(lab: Lab, phone: AdbDevice) -> None:
    left = leave_files(phone)
    found = query_devices(lab, "--clean")
    assert found["local"]["freed_bytes"] == 0
    assert found[phone.spec]["freed_bytes"] == left
    assert phone.files() == {}


def test_clean_says_what_it_freed(lab: Lab, board: SshDevice) -> None:
    leave_files(board)
    assert "75.3 kB freed" in read_screen(lab, "--clean", "--device", board.spec)


def test_clean_leaves_a_live_run_its_files(lab: Lab, device: Device) -> None:
    leave_files(device)
    live = device.folder / "runs" / "1700000001-0000000b"
    live.mkdir()
    (live / "1_x.etdump").write_bytes(b"x" * 10)
    (live / "guard").write_text(f"{os.getpid()}\n")  # it lives as long as this test
    found = query_devices(lab, "--clean", "--device", device.spec)[device.spec]
    assert (found["live_runs"], found["freed_bytes"], found["cache_bytes"]) == (1, 329, 75_001)
    assert set(device.files()) == {
        "cache/0123456789abcdef0123/model.pte", "cache/0123456789abcdef0123/etprof-runner", "runs/1700000001-0000000b/1_x.etdump", "runs/1700000001-0000000b/guard"
    }  # fmt: skip
    (live / "guard").unlink()  # a run that has just begun has none yet
    assert query_devices(lab, "--clean", "--device", device.spec)[device.spec]["live_runs"] == 1
    assert (live / "1_x.etdump").exists()


def test_cleaning_what_cannot_be_reached_fails(lab: Lab, board: SshDevice) -> None:
    board.stop()
    found = query_devices(lab, "--clean", "--device", board.spec, code=4)
    assert not found[board.spec]["reachable"]


def test_the_folders_of_killed_ssh_clients_go_with_the_next(lab: Lab, board: SshDevice) -> None:
    stale, user_folder = (
        Path(tempfile.gettempdir()) / f"etprof-ssh-{pid}-{uuid.uuid4().hex[:6]}" for pid in (999999999, 999999998)
    )
    other_folder = Path(tempfile.gettempdir()) / f"etprof-ssh-mine-{uuid.uuid4().hex[:6]}"
    try:
        for folder in (stale, user_folder, other_folder):
            folder.mkdir()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(stale / "c"))
        (user_folder / "notes").write_text("mine")
        query_devices(lab, "--device", board.spec)
        assert not stale.exists()
        assert (user_folder / "notes").read_text() == "mine"
        assert other_folder.is_dir()
    finally:
        for folder in (stale, user_folder, other_folder):
            shutil.rmtree(folder, ignore_errors=True)
