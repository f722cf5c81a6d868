"""Power modes, conditions, temperature, and the log of a phone while etprof measures it."""

import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from remote_bench import MODEL, SHORT, EtprofProcess, manifest, profile, runner, wait_until, wait_until_clean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

BOOST = {
    "low_power": "0",
    "stay_on_while_plugged_in": "15",
    "window_animation_scale": "0",
    "transition_animation_scale": "0",
    "animator_duration_scale": "0",
}
LONG = ["--launches", "6", "--max-seconds", "60", "--power-mode", "unconstrained-boost"]


@pytest.fixture
def phone(lab):
    """A phone for which this machine's runner is built."""
    device = lab.adb("phone", abi="x86_64")
    device.connect()
    return device


def is_boost_active(phone) -> bool:
    return BOOST.items() <= phone.phone.settings().items()


def test_a_power_mode_is_set_told_and_put_back(lab, phone, tmp_path):
    phone.phone.set_setting("global", "low_power", "1")
    before = phone.phone.settings()
    assert "animator_duration_scale" not in before
    folder = tmp_path / "run"
    completed = lab.run(profile(phone, folder, *SHORT, "--power-mode", "unconstrained-boost"))
    assert completed.returncode == 0, completed.stderr
    assert phone.phone.settings() == before
    assert "power mode unconstrained-boost" in completed.stdout
    stored_settings = {
        setting["key"]: (setting["value"], setting["before"]) for setting in manifest(folder)["power_mode"]["settings"]
    }
    assert stored_settings == {key: (value, before.get(key)) for key, value in BOOST.items()}
    assert lab.run([program.etprof(), "validate", folder]).returncode == 0
    wait_until_clean(phone)


@pytest.mark.parametrize("signal_to_send", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_etprof_leaves_no_power_mode(lab, phone, tmp_path, signal_to_send):
    before = phone.phone.settings()
    folder = tmp_path / "run"
    etprof_process = EtprofProcess(lab, folder, profile(phone, folder, *LONG))
    etprof_process.wait_for_a_launch(folder)
    assert is_boost_active(phone)
    etprof_process.process.send_signal(signal_to_send)
    etprof_process.end()
    wait_until(lambda: phone.phone.settings() == before)
    wait_until_clean(phone)


def test_two_etprofs_take_turns_with_a_power_mode(lab, phone, tmp_path):
    """The end of the first etprof restores the settings, and the start of the second sets the mode again."""
    before = phone.phone.settings()
    command = ["--launches", "200", "--max-seconds", "600", "--power-mode", "unconstrained-boost"]
    first_folder, second_folder = tmp_path / "one", tmp_path / "two"
    first = EtprofProcess(lab, first_folder, profile(phone, first_folder, *command))
    first.wait_for_a_launch(first_folder)
    second = EtprofProcess(lab, second_folder, profile(phone, second_folder, *command))
    second.wait_for("waiting for ")
    assert not (second_folder / "manifest.json").exists()
    first.process.send_signal(signal.SIGINT)
    first.end()
    second.wait_for_a_launch(second_folder)
    assert is_boost_active(phone)
    second.process.send_signal(signal.SIGINT)
    second.end()
    assert phone.phone.settings() == before
    wait_until_clean(phone)


def test_a_power_mode_after_a_lost_connection(lab, phone, tmp_path):
    """The guard restores the settings, the reconnected etprof sets the mode again, and its end restores the settings."""
    before = phone.phone.settings()
    folder = tmp_path / "run"
    etprof_process = EtprofProcess(lab, folder, profile(phone, folder, *LONG))
    etprof_process.wait_for_a_launch(folder)
    phone.stop()
    etprof_process.wait_for("the connection was lost")
    wait_until(lambda: phone.phone.settings() == before)
    phone.start()
    wait_until(lambda: is_boost_active(phone))
    assert etprof_process.end() == 0, etprof_process.text()
    assert phone.phone.settings() == before
    wait_until_clean(phone)


def test_a_power_mode_after_a_reboot(lab, phone, tmp_path):
    """No process is left to restore the settings. The next etprof restores the saved values."""
    before = phone.phone.settings()
    folder = tmp_path / "run"
    etprof_process = EtprofProcess(lab, folder, profile(phone, folder, *LONG, "--wait-for-device", "0"))
    etprof_process.wait_for_a_launch(folder)
    phone.stop()
    phone.kill_programs()
    guards = [guard.read_text().strip() for guard in phone.folder.glob("runs/*/guard")]
    wait_until(lambda: not any(Path("/proc", pid).exists() for pid in guards))  # a zombie still has its number
    etprof_process.end()
    # Undo the work of the guard, which may have had time to restore settings.
    for key, value in BOOST.items():
        phone.phone.set_setting("global", key, value)
    saved = "".join(f"{key} {before.get(key, 'null')}\n" for key in BOOST)
    (phone.folder / "settings.before").write_text(saved)
    phone.start()
    completed = lab.run([program.etprof(), "isa", "--device", phone.spec, "--runner", runner()])
    assert completed.returncode == 0, completed.stderr
    assert phone.phone.settings() == before


def test_a_board_has_no_power_modes(lab, board, tmp_path):
    for device in (board.spec, "local"):
        command = profile(board, tmp_path / "run", *SHORT, "--power-mode", "app-developer")
        command[command.index("--device") + 1] = device
        completed = lab.run(command)
        assert completed.returncode == 2
        assert "has no power modes" in program.one_error(completed.stderr)


def test_rounds_with_capped_clocks_and_heat_are_told(lab, phone, tmp_path):
    phone.phone.cap("big", 1_800_000)
    phone.phone.set_temperature(skin=44.0, cpu=61.5)
    folder = tmp_path / "run"
    completed = lab.run(profile(phone, folder, *SHORT))
    assert completed.returncode == 0, completed.stderr
    conditions = manifest(folder)["conditions"]
    launches = [launch for result in manifest(folder)["results"] for launch in result["launches"]]
    rounds = {(launch["index"], burst["round"]) for launch in launches for burst in launch["bursts"]}
    assert [(c["launch"], c["round"]) for c in conditions] == sorted(rounds)
    assert {launch for launch, _ in rounds} == {0, 1}
    assert all(c["capped"] and c["hot"] for c in conditions)
    first = conditions[0]
    assert (first["cpu_celsius"], first["skin_celsius"], first["thermal_status"]) == (61.5, 44.0, 2)
    assert (first["battery_percent"], first["battery_status"], first["battery_celsius"]) == (85, "Charging", 28.4)
    assert first["clocks"] == [
        {"cpus": [0], "khz": 1_950_000, "cap_khz": 1_950_000, "hardware_max_khz": 1_950_000},
        {"cpus": [1], "khz": 1_800_000, "cap_khz": 1_800_000, "hardware_max_khz": 3_250_000},
    ]
    assert [(c["type"], c["state"]) for c in first["cooling"]] == [("cpufreq-cpu0", 0), ("cpufreq-cpu1", 4)]
    assert first["cooling"][1]["highest_state"] == 10
    report = (folder / "report.md").read_text()
    assert f"{len(rounds)} of {len(rounds)} rounds ran with capped clocks (CPU 1 at 1.80 of 3.25 GHz)" in report
    assert "rounds ran hot (up to 61.5 °C, thermal status moderate)" in report
    # etprof queries the service once per launch.
    assert len([call for call in phone.phone.calls() if call[:2] == ["dumpsys", "thermalservice"]]) == 2
    # The manifest has the device's properties, independent of the connection.
    cpus = {cpu["id"]: cpu for cpu in manifest(folder)["device"]["cpus"]}
    assert (cpus[1]["max_khz"], cpus[1]["hardware_max_khz"], cpus[1]["capacity"]) == (1_800_000, 3_250_000, 1024)
    assert cpus[0]["governor"] == "sched_pixel"
    assert lab.run([program.etprof(), "validate", folder]).returncode == 0


def test_waiting_for_a_phone_to_cool(lab, phone, tmp_path):
    phone.phone.set_temperature(skin=50.0, cpu=70.0)
    folder = tmp_path / "run"
    etprof_process = EtprofProcess(lab, folder, profile(phone, folder, *SHORT, "--max-temp", "45"))
    etprof_process.wait_for("waiting for the device to cool: 50.0 °C > 45 °C")
    phone.phone.set_temperature(skin=38.0)  # and the CPU is still hotter than that
    assert etprof_process.end() == 0, etprof_process.text()
    run_manifest = manifest(folder)
    assert run_manifest["conditions"][0]["waited_seconds"] > 0 and not any(c["hot"] for c in run_manifest["conditions"])
    assert run_manifest["schedule"]["waited_seconds"] >= run_manifest["conditions"][0]["waited_seconds"]
    # A phone that stays hot is waited for once.
    phone.phone.set_temperature(skin=50.0)
    folder = tmp_path / "hot"
    completed = lab.run(profile(phone, folder, *SHORT, "--max-temp", "45", "--max-temp-wait", "1"))
    assert completed.returncode == 0, completed.stderr
    assert "does not stay cool: 50.0 °C > 45 °C" in completed.stderr
    assert all(c["hot"] for c in manifest(folder)["conditions"])
    assert sum(c["waited_seconds"] > 0.5 for c in manifest(folder)["conditions"]) == 1


def run_foreign_runner(lab, phone, tmp_path, script: str) -> tuple[Path, list[str]]:
    """Runs a kernel-log experiment whose runner is a shell script, which writes its ETDump to $etdump."""
    script_path = tmp_path / "executor_runner"
    script_path.write_text(f"""#!/bin/sh
for a; do case $a in --worker) echo "unknown command line flag" >&2; exit 1;; --etdump_path=*) etdump=${{a#*=}};; esac; done
{script}
""")
    script_path.chmod(0o755)
    config = tmp_path / "config.json"
    folder = tmp_path / "run"
    config.write_text(
        f'{{"model": "{MODEL}", "runner_path": "{script_path}", "output_root": "{folder}", "warmup": 9, "runs": 10,'
        ' "experiments": [{"name": "a", "mode": "xnntrace"}]}'
    )
    shutil.rmtree(folder, ignore_errors=True)
    completed = lab.run([program.etprof(), "run", config, "--device", phone.spec])
    assert completed.returncode == 0, completed.stderr
    return folder, manifest(folder)["results"][0]["warnings"]


def test_a_foreign_runner_on_a_phone(lab, phone, tmp_path):
    """XNNPACK's lines from Android's log, outputs with NaN, a crash after the ETDump is complete."""
    phone.phone.log_line("of another day")
    etdump = f"cp {program.DATA / 'toy_cnn.t1.etdump'} $etdump"
    folder, warnings = run_foreign_runner(
        lab,
        phone,
        tmp_path,
        f"""log -t XNNPACK -p d "Using igemm microkernel 'x'"
log -t Zygote no line of ours
echo 'OutputX 0: tensor(sizes=[1, 2], [ nan, 1.,])'
{etdump}
kill -SEGV $$""",
    )
    (trace,) = folder.glob("a/*_xnntrace.log")
    text = trace.read_text()
    assert "XNNPACK : Using igemm microkernel 'x'" in text
    assert "another day" not in text and "Zygote" not in text
    assert any("NaN" in warning for warning in warnings)
    assert any("complete by then" in warning for warning in warnings)
    assert ["logcat", "-c"] not in phone.phone.calls()
    # The log is not read if the runner itself prints XNNPACK's lines.
    folder, _ = run_foreign_runner(
        lab, phone, tmp_path, f"log -t XNNPACK twice\necho \"Debug (XNNPACK): Using 'y'\" >&2\n{etdump}"
    )
    text = next(folder.glob("a/*_xnntrace.log")).read_text()
    assert "Using 'y'" in text and "twice" not in text


RUNNER = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int of_the_library(void);
int main(int argc, char** argv) {
  int runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--worker") == 0) return 1;
    if (strncmp(argv[i], "--num_executions=", 17) == 0) runs = atoi(argv[i] + 17);
  }
  for (int i = 0; i < runs; ++i) printf("Iteration %d of %d: %d.5 ms\\n", i + 1, runs, of_the_library());
  return 0;
}
"""


def test_a_runner_with_the_ndks_library(lab, phone, tmp_path):
    """The runner is linked to a libc++_shared.so that neither the phone nor the runner's folder has."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "runner.c").write_text(RUNNER)
    (tmp_path / "library.c").write_text("int of_the_library(void) { return 7; }\n")
    folder = tmp_path / "ndk" / "toolchains" / "llvm" / "prebuilt" / "linux-x86_64" / "sysroot" / "usr" / "lib"
    folder = folder / f"{platform.machine()}-linux-android"
    folder.mkdir(parents=True)
    library, executable = folder / "libc++_shared.so", tmp_path / "executor_runner"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-Wl,-soname,libc++_shared.so", "-o", library, tmp_path / "library.c"],
        check=True,
    )
    subprocess.run([compiler, "-o", executable, tmp_path / "runner.c", library], check=True)
    config = tmp_path / "config.json"
    config.write_text(
        f'{{"model": "{MODEL}", "runner_path": "{executable}", "output_root": "{tmp_path / "run"}", "launches": 2,'
        ' "experiments": [{"name": "a"}]}'
    )
    command = [program.etprof(), "run", config, "--device", phone.spec]
    completed = lab.run(["env", "-u", "ANDROID_NDK", *command])
    assert completed.returncode == 3
    assert "needs libc++_shared.so, which is not next to it" in completed.stderr
    completed = lab.run(["env", f"ANDROID_NDK={tmp_path / 'ndk'}", *command])
    assert completed.returncode == 0, completed.stderr
    assert manifest(tmp_path / "run")["results"][0]["median_ms"] == 7.5
