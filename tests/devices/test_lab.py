"""Tests of the lab itself, with the plain ssh and adb clients."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from lab import AdbDevice, Device, Lab, SshDevice
from lab.phone import EIGHT_CPUS
from lab.processes import is_alive, wait_until


@pytest.fixture(params=["board", "phone"])
def device(request: pytest.FixtureRequest) -> Device:
    return request.getfixturevalue(request.param)


def client(device: Device, command: str) -> list[str]:
    """The plain client's command line: no terminal, standard input passed on."""
    if isinstance(device, SshDevice):
        return ["ssh", "-F", str(device.lab.ssh_config), device.name, command]
    assert isinstance(device, AdbDevice)
    return ["adb", "-s", device.serial, "shell", "-T", command]


def push(device: Device, source: Path, target: str) -> subprocess.CompletedProcess[str]:
    if isinstance(device, SshDevice):
        with source.open("rb") as file:
            return device.lab.run(client(device, f"cat > '{target}'"), stdin=file)
    assert isinstance(device, AdbDevice)
    return device.adb("push", source, target)


def start_program(device: Device) -> subprocess.Popen[bytes]:
    """Starts a program on the device that runs until it is killed, and waits until it runs."""
    process = device.lab.popen(
        client(device, "echo up; while :; do sleep 0.05; done"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_exit_code_and_both_streams_come_back(device: Device) -> None:
    completed = device.shell("echo out; echo err >&2; exit 7")
    assert (completed.returncode, completed.stdout, completed.stderr) == (7, "out\n", "err\n")


def test_standard_input_is_live(device: Device) -> None:
    session = device.lab.popen(client(device, "while read -r word; do echo got $word; done"), stdin=-1, stdout=-1)
    assert session.stdin is not None
    assert session.stdout is not None
    for word in (b"one", b"two"):
        session.stdin.write(word + b"\n")
        session.stdin.flush()
        assert session.stdout.readline() == b"got " + word + b"\n"
    session.stdin.close()
    assert session.wait(240) == 0
    session.stdout.close()


def test_what_is_pushed_arrives(device: Device, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    (tmp_path / "data").write_bytes(data)
    completed = push(device, tmp_path / "data", f"{device.folder}/data")
    assert completed.returncode == 0, completed.stderr
    assert device.files() == {"data": len(data)}
    assert (device.folder / "data").read_bytes() == data


def test_a_folder_is_pushed_and_pulled_by_adb(phone: AdbDevice, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_bytes(b"\0\r\n\xff")
    assert phone.adb("push", tmp_path / "there", phone.folder).returncode == 0
    assert phone.adb("pull", f"{phone.folder}/there", tmp_path / "back").returncode == 0
    assert (tmp_path / "back" / "file").read_bytes() == b"\0\r\n\xff"


def test_sftp_answers(board: SshDevice, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("by sftp")
    completed = board.lab.run(
        ["scp", "-F", board.lab.ssh_config, tmp_path / "data", f"{board.name}:{board.folder}/data"]
    )
    assert completed.returncode == 0, completed.stderr
    assert (board.folder / "data").read_text() == "by sftp"


def test_programs_find_their_folder(device: Device) -> None:
    assert device.shell('printf %s "$ETPROF_DEVICE_DIR"').stdout == str(device.folder.parent)


def test_a_phone_tells_its_programs_where_its_sysfs_is(phone: AdbDevice) -> None:
    command = 'cat "$ETPROF_SYSFS_ROOT"/sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq'
    assert phone.shell(command).stdout == "3250000\n"


def test_running_programs_are_seen_until_they_end(device: Device) -> None:
    assert device.processes() == {}
    running = start_program(device)
    assert any("while :" in line for line in device.processes().values())
    device.kill_programs()
    assert device.processes() == {}
    running.communicate(timeout=240)


def test_a_stopped_device_is_gone_and_its_programs_go_on(device: Device) -> None:
    running = start_program(device)
    device.stop()
    running.wait(240)  # the client sees its connection end
    assert device.shell("true").returncode != 0
    # As with a pulled cable, the program gets no signal and keeps running.
    assert any("while :" in line for line in device.processes().values())
    end(running)


def test_a_started_device_is_back_at_the_same_address(device: Device) -> None:
    before = device.spec
    device.stop()
    device.start()
    if isinstance(device, AdbDevice):
        device.connect()
    assert device.spec == before
    assert device.shell("echo back").stdout == "back\n"


def test_a_reboot_ends_every_program(device: Device) -> None:
    running = start_program(device)
    device.reboot()
    assert device.processes() == {}
    end(running)


def test_a_frozen_device_is_silent_and_goes_on_after(device: Device) -> None:
    running = device.lab.popen(
        client(device, "while read -r word; do echo $word; done"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"one\n")
    running.stdin.flush()
    assert running.stdout.readline() == b"one\n"
    device.freeze()
    with pytest.raises(subprocess.TimeoutExpired):
        device.shell("true", timeout=1)
    running.stdin.write(b"two\n")
    running.stdin.flush()
    assert running.poll() is None
    device.thaw()
    assert running.stdout.readline() == b"two\n"
    end(running)


def test_a_full_disk_refuses_what_does_not_fit(device: Device, tmp_path: Path) -> None:
    device.full_disk(64 * 1024)
    (tmp_path / "small").write_bytes(b"x" * 1024)
    (tmp_path / "large").write_bytes(b"x" * 1024 * 1024)
    assert push(device, tmp_path / "small", f"{device.folder}/small").returncode == 0
    failure = push(device, tmp_path / "large", f"{device.folder}/large")
    assert failure.returncode != 0
    assert "No space left on device" in failure.stderr + failure.stdout


def test_two_devices_of_each_kind_are_apart(lab: Lab) -> None:
    devices = [lab.ssh("one"), lab.ssh("two"), lab.adb("three"), lab.adb("four")]
    for device in devices[2:]:
        assert isinstance(device, AdbDevice)
        device.connect()
    running = [start_program(device) for device in devices]
    for device in devices:
        device.shell(f'echo {device.name} > "$ETPROF_DEVICE_DIR"/etprof/name')
    assert [(device.folder / "name").read_text() for device in devices] == ["one\n", "two\n", "three\n", "four\n"]
    devices[0].reboot()
    assert devices[0].processes() == {}
    assert all(device.processes() for device in devices[1:])
    for process in running:
        end(process)


def test_a_lab_leaves_nothing_behind(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lab")
    board, phone = lab.ssh(), lab.adb()
    phone.connect()
    phone.full_disk(4096)
    running = [start_program(board), start_program(phone)]
    daemons = [*board._session_pids(), *phone._session_pids()]
    assert daemons
    lab.close()
    for process in running:
        end(process)
    assert board.processes() == phone.processes() == {}
    assert not any(is_alive(pid) for pid in daemons)
    assert str(phone.folder) not in Path("/proc/mounts").read_text()


def test_the_lab_is_not_reachable_from_outside(board: SshDevice) -> None:
    if board.lab.command(["true"]) == ["true"]:
        pytest.skip("network namespaces (as root: unshare, nsenter, ip) are needed to be apart")
    with socket.socket() as outside:
        assert outside.connect_ex(("127.0.0.1", board.port)) != 0


def test_an_unknown_host_key_is_refused(board: SshDevice) -> None:
    board.lab.known_hosts.write_text("")
    failure = board.shell("true")
    assert failure.returncode == 255
    assert "Host key verification failed" in failure.stderr


# --- the phone's commands ---


def test_settings_are_kept(phone: AdbDevice) -> None:
    assert phone.shell("settings get global window_animation_scale").stdout == "1.0\n"
    assert phone.shell("settings get global animator_duration_scale").stdout == "null\n"
    phone.shell("settings put global window_animation_scale 0; settings put global animator_duration_scale 0")
    assert phone.phone.settings()["window_animation_scale"] == "0"
    window = phone.shell("dumpsys window").stdout
    assert "mWindowAnimationScaleSetting=0.0 mTransitionAnimationScaleSetting=1.0" in window
    assert "mAnimatorDurationScaleSetting=0.0" in window
    assert phone.shell("settings delete global animator_duration_scale").stdout == "Deleted 1 rows\n"
    assert "animator_duration_scale" not in phone.phone.settings()
    assert phone.phone.calls()[0] == ["settings", "get", "global", "window_animation_scale"]


def test_staying_on_while_plugged_in(phone: AdbDevice) -> None:
    phone.shell("svc power stayon true")
    assert phone.phone.settings()["stay_on_while_plugged_in"] == "15"
    assert "mStayOn=true" in phone.shell("dumpsys power").stdout
    phone.phone.discharge()
    power = phone.shell("dumpsys power").stdout
    assert "mStayOn=false" in power
    assert "mStayOnWhilePluggedInSetting=15" in power


def test_the_battery_discharges(phone: AdbDevice) -> None:
    charging = phone.shell("dumpsys battery").stdout
    assert "  USB powered: true\n" in charging
    assert "  status: 2\n" in charging
    assert "  temperature: 284\n" in charging
    phone.phone.discharge(level=41)
    discharging = phone.shell("dumpsys battery").stdout
    assert "  USB powered: false\n" in discharging
    assert "  status: 3\n" in discharging
    assert "  level: 41\n" in discharging


def test_a_hot_phone(phone: AdbDevice) -> None:
    assert "Thermal Status: 0\n" in phone.shell("dumpsys thermalservice").stdout
    phone.phone.set_temperature(skin=45.5, cpu=88.0)
    thermal_dump = phone.shell("dumpsys thermalservice").stdout
    assert "Thermal Status: 3\n" in thermal_dump
    assert "Temperature{mValue=45.5, mType=3, mName=VIRTUAL-SKIN, mStatus=3}" in thermal_dump
    zones = phone.shell('cd "$ETPROF_SYSFS_ROOT"/sys/class/thermal; cat thermal_zone*/type thermal_zone*/temp').stdout
    assert zones.split() == ["LITTLE", "BIG", "VIRTUAL-SKIN", "battery", "88000", "88000", "45500", "28400"]
    phone.shell("cmd thermalservice override-status 0")
    overridden = phone.shell("dumpsys thermalservice").stdout
    assert "IsStatusOverride: true\n" in overridden
    assert "Thermal Status: 0\n" in overridden


def test_a_capped_phone(phone: AdbDevice) -> None:
    read = 'cd "$ETPROF_SYSFS_ROOT"/sys; cat devices/system/cpu/cpu{0,1}/cpufreq/scaling_max_freq'
    read = read.replace("cpu{0,1}", "cpu[01]") + " class/thermal/cooling_device1/cur_state"
    assert phone.shell(read).stdout.split() == ["1950000", "3250000", "0"]
    phone.phone.cap("big", 1_625_000)
    assert phone.shell(read).stdout.split() == ["1950000", "1625000", "5"]
    assert "CoolingDevice{mValue=5, mType=2, mName=cpufreq-cpu1}" in phone.shell("dumpsys thermalservice").stdout
    phone.phone.uncap("big")
    assert phone.shell(read).stdout.split() == ["1950000", "3250000", "0"]


def test_a_phone_of_eight_cpus(lab: Lab) -> None:
    phone = lab.adb(clusters=EIGHT_CPUS)
    phone.connect()
    read = 'cd "$ETPROF_SYSFS_ROOT"/sys/devices/system/cpu; cat cpu5/cpufreq/related_cpus cpu7/cpu_capacity possible'
    assert phone.shell(read).stdout == "4 5 6\n1024\n0-7\n"


def test_the_log_is_filtered_and_cleared(phone: AdbDevice) -> None:
    phone.phone.log_line("Using igemm microkernel 'a'.")
    phone.phone.log_line("something else", tag="Zygote", priority="E")
    phone.phone.log_line("a detail", priority="D")
    all_lines = phone.shell("logcat -d").stdout.splitlines()
    assert all_lines[0] == "--------- beginning of main"
    assert len(all_lines) == 4
    filtered_lines = phone.shell("logcat -d -s XNNPACK:I").stdout.splitlines()[1:]
    assert filtered_lines == ["11-21 20:40:43.863  4242  4242 I XNNPACK : Using igemm microkernel 'a'."]
    assert phone.shell("logcat -d -v raw -s XNNPACK").stdout.splitlines()[1:] == [
        "Using igemm microkernel 'a'.",
        "a detail",
    ]
    brief = phone.shell("logcat -d -v brief -s XNNPACK:I").stdout.splitlines()[1]
    assert brief == "I/XNNPACK ( 4242): Using igemm microkernel 'a'."
    phone.shell("logcat -c; log -t XNNPACK -p w of the device itself")
    remaining_lines = phone.shell("logcat -d -s XNNPACK").stdout.splitlines()
    assert len(remaining_lines) == 2
    assert " W XNNPACK : of the device itself" in remaining_lines[1]


def test_the_log_is_followed(phone: AdbDevice) -> None:
    follow = phone.lab.popen(client(phone, "logcat -v raw -s XNNPACK"), stdout=subprocess.PIPE, text=True)
    assert follow.stdout is not None
    phone.phone.log_line("first")
    lines = (line for line in follow.stdout if not line.startswith("---------"))
    assert next(lines) == "first\n"
    phone.phone.log_line("second")
    assert next(lines) == "second\n"
    follow.kill()
    follow.communicate()


def test_properties(phone: AdbDevice) -> None:
    assert phone.shell("getprop ro.product.cpu.abi; getprop nothing; uname -m").stdout == "arm64-v8a\n\naarch64\n"
    assert "[ro.build.version.release]: [15]\n" in phone.shell("getprop").stdout
    assert phone.shell("setprop ro.build.id x").returncode == 1
    phone.shell("setprop debug.etprof 1")
    assert phone.shell("getprop debug.etprof").stdout == "1\n"


def test_unknown_services_are_named(phone: AdbDevice) -> None:
    assert phone.shell("dumpsys nonsense").stderr == "Can't find service: nonsense\n"
    completed = phone.shell("cmd nonsense")
    assert (completed.returncode, completed.stderr) == (20, "cmd: Can't find service: nonsense\n")


def test_taskset_pins_on_the_phone(phone: AdbDevice) -> None:
    assert phone.shell("taskset 1 sh -c 'grep Cpus_allowed_list /proc/self/status'").stdout.split() == [
        "Cpus_allowed_list:",
        "0",
    ]


def test_programs_of_the_lab_hear_signals_themselves(lab: Lab) -> None:
    program = lab.popen(["sh", "-c", "trap 'exit 3' INT; echo up; while :; do sleep 0.05; done"], stdout=-1)
    assert program.stdout is not None
    program.stdout.readline()
    program.send_signal(signal.SIGINT)
    assert program.wait(240) == 3
    program.stdout.close()


def test_waiting_has_an_end() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"^pigs to fly: not within 0\.1 s$"):
        wait_until(lambda: False, "pigs to fly", seconds=0.1)
    assert time.monotonic() - start >= 0.1
