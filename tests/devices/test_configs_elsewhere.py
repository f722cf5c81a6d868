"""Dry runs of the configurations for other machines, on devices that report to be such machines."""

import json
import sys
from pathlib import Path

import pytest
from lab import Lab, SshDevice

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program
from test_devices import ARM_CPUINFO

CONFIGS = program.ROOT / "configs"
MODEL = program.DATA / "toy_cnn.pte"


class DisguisedHost(SshDevice):
    """A host behind sshd that reports the uname, sysctl, and /proc/cpuinfo of another machine."""

    commands: dict[str, str]

    def device_environment(self) -> dict[str, str]:
        programs = self.root / "bin"
        if not programs.exists():
            programs.mkdir()
            for name, text in self.commands.items():
                (programs / name).write_text(f"#!/bin/sh\n{text}\n")
                (programs / name).chmod(0o755)
            (self.root / "state" / "proc").mkdir(parents=True)
            (self.root / "state" / "proc" / "cpuinfo").write_text(ARM_CPUINFO)
        variables = {"PATH": f"{programs}:/usr/bin:/bin", "ETPROF_SYSFS_ROOT": str(self.root / "state")}
        return {**super().device_environment(), **variables}


class Board(DisguisedHost):
    commands = {"uname": 'case "$1" in -m) echo aarch64 ;; -r) echo 6.6.0 ;; *) echo Linux ;; esac'}  # noqa: RUF012


class Mac(DisguisedHost):
    commands = {  # noqa: RUF012
        "uname": 'case "$1" in -m) echo arm64 ;; -r) echo 24.0.0 ;; *) echo Darwin ;; esac',
        "sysctl": 'case "$2" in *FEAT_*) echo 1 ;; hw.logicalcpu) echo 8 ;; *string) echo Apple M4 ;; *) echo 15 ;; esac',
    }


def start_device(lab: Lab, kind: type[SshDevice], name: str) -> SshDevice:
    device = kind(lab, name)
    lab.devices.append(device)
    device.start()
    return device


@pytest.fixture
def working_folder(tmp_path: Path) -> Path:
    """A folder with the model and the runners where the configurations expect them."""
    for name in (
        "out_MODEL/artifacts/MODEL_xnnpack_fp16.pte",
        "out_MODEL/artifacts/MODEL_xnnpack_fp32.pte",
        "out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp16.pte",
        "out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(MODEL)
    for preset in ("mac-arm64", "android-arm64-v9a"):
        for folder in (preset, f"{preset}-sme2-off"):
            runner = tmp_path / "executorch" / "cmake-out" / folder / "executor_runner"
            runner.parent.mkdir(parents=True)
            runner.write_text("#!/bin/sh\n")
            runner.chmod(0o755)
    return tmp_path


def dry_run(lab: Lab, working_folder: Path, path: Path, *arguments: str) -> dict:
    """Returns the plan of one device. etprof does not start the runner of a bundle, so it may be any file."""
    runner = working_folder / "executorch" / "cmake-out" / "mac-arm64" / "executor_runner"
    completed = lab.run(
        [program.etprof(), "run", path, "--dry-run", "--json", *arguments],
        cwd=working_folder,
        env={**lab.environment, "ETPROF_RUNNER": str(runner)},
    )
    assert completed.returncode == 0, completed.stderr
    (plan,) = json.loads(completed.stdout)["devices"]
    return plan


def check_sme2_plan(plan: dict, platform: str) -> None:
    assert plan["platform"] == platform
    off, on = plan["experiments"]
    assert (off["isa"], on["isa"]) == ("-sme,-sme2", "")
    assert [(pair["baseline"], pair["candidate"]) for pair in plan["pairs"]] == [("sme2 off", "sme2 on")]


def check_kit_plan(plan: dict, platform: str) -> None:
    on, off = plan["experiments"]
    assert "-sme2-off/" not in on["runner"] and "-sme2-off/" in off["runner"]
    name = platform.partition("-")[0]
    (pair,) = plan["pairs"]
    assert (pair["baseline"], pair["candidate"], pair["label"]) == (f"{name}_sme2_off", f"{name}_sme2_on", "sme2")
    assert plan["platform"] == platform


def test_those_of_a_phone(lab, phone, working_folder):
    phone.phone.store.set("proc/cpuinfo", ARM_CPUINFO)
    check_sme2_plan(dry_run(lab, working_folder, CONFIGS / "templates" / "android_template.json"), "android")
    check_kit_plan(dry_run(lab, working_folder, CONFIGS / "examples" / "android_mobilenet_fp16.json"), "android")


def test_a_phone_without_sme2_is_told_so(lab, phone, working_folder):
    phone.phone.store.set("proc/cpuinfo", ARM_CPUINFO.replace(" sme sme2 smei16i32", ""))
    completed = lab.run(
        [program.etprof(), "run", CONFIGS / "templates" / "android_template.json", "--dry-run"],
        cwd=working_folder,
        env={
            **lab.environment,
            "ETPROF_RUNNER": str(working_folder / "executorch/cmake-out/mac-arm64/executor_runner"),
        },
    )
    assert completed.returncode == 3
    assert 'Experiment "android_sme2_off": --isa: this CPU has no sme' in completed.stderr
    assert program.one_error(completed.stderr)


def test_those_of_a_board(lab, working_folder):
    start_device(lab, Board, "board")
    text = (CONFIGS / "templates" / "board_template.json").read_text(encoding="utf-8").replace("BOARD", "board")
    (working_folder / "board.json").write_text(text, encoding="utf-8")
    check_sme2_plan(dry_run(lab, working_folder, working_folder / "board.json"), "linux-aarch64")
    check_sme2_plan(dry_run(lab, working_folder, CONFIGS / "examples" / "board_sme2_on_off.json"), "linux-aarch64")


def test_those_of_a_mac(lab, working_folder):
    start_device(lab, Mac, "mac")
    check_sme2_plan(
        dry_run(lab, working_folder, CONFIGS / "templates" / "mac_template.json", "--device", "ssh:mac"), "mac"
    )
    check_kit_plan(
        dry_run(lab, working_folder, CONFIGS / "examples" / "mac_mobilenet_fp16.json", "--device", "ssh:mac"), "mac"
    )
