"""The configurations for other machines, dry-run on devices that say of themselves what those are."""

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


class SaysOfItself(SshDevice):
    """A host behind sshd whose uname, sysctl and /proc/cpuinfo are somebody else's."""

    said: dict[str, str]

    def device_environment(self) -> dict[str, str]:
        programs = self.root / "bin"
        if not programs.exists():
            programs.mkdir()
            for name, text in self.said.items():
                (programs / name).write_text(f"#!/bin/sh\n{text}\n")
                (programs / name).chmod(0o755)
            (self.root / "state" / "proc").mkdir(parents=True)
            (self.root / "state" / "proc" / "cpuinfo").write_text(ARM_CPUINFO)
        own = {"PATH": f"{programs}:/usr/bin:/bin", "ETPROF_SYSFS_ROOT": str(self.root / "state")}
        return {**super().device_environment(), **own}


class Board(SaysOfItself):
    said = {"uname": 'case "$1" in -m) echo aarch64 ;; -r) echo 6.6.0 ;; *) echo Linux ;; esac'}  # noqa: RUF012


class Mac(SaysOfItself):
    said = {  # noqa: RUF012
        "uname": 'case "$1" in -m) echo arm64 ;; -r) echo 24.0.0 ;; *) echo Darwin ;; esac',
        "sysctl": 'case "$2" in *FEAT_*) echo 1 ;; hw.logicalcpu) echo 8 ;; *string) echo Apple M4 ;; *) echo 15 ;; esac',
    }


def made(lab: Lab, kind: type[SshDevice], name: str) -> SshDevice:
    device = kind(lab, name)
    lab.devices.append(device)
    device.start()
    return device


@pytest.fixture
def here(tmp_path: Path) -> Path:
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


def dry_run(lab: Lab, here: Path, path: Path, *arguments: str) -> dict:
    """One device's plan. The runner of a bundle is a file that is not asked what it is."""
    runner = here / "executorch" / "cmake-out" / "mac-arm64" / "executor_runner"
    done = lab.run(
        [program.etprof(), "run", path, "--dry-run", "--json", *arguments],
        cwd=here,
        env={**lab.environment, "ETPROF_RUNNER": str(runner)},
    )
    assert done.returncode == 0, done.stderr
    (plan,) = json.loads(done.stdout)["devices"]
    return plan


def of_sme2(plan: dict, platform: str) -> None:
    assert plan["platform"] == platform
    off, on = plan["experiments"]
    assert (off["isa"], on["isa"]) == ("-sme,-sme2", "")
    assert [(pair["baseline"], pair["candidate"]) for pair in plan["pairs"]] == [("sme2 off", "sme2 on")]


def of_the_kit(plan: dict, platform: str) -> None:
    on, off = plan["experiments"]
    assert "-sme2-off/" not in on["runner"] and "-sme2-off/" in off["runner"]
    name = platform.partition("-")[0]
    (pair,) = plan["pairs"]
    assert (pair["baseline"], pair["candidate"], pair["label"]) == (f"{name}_sme2_off", f"{name}_sme2_on", "sme2")
    assert plan["platform"] == platform


def test_those_of_a_phone(lab, phone, here):
    phone.phone.store.set("proc/cpuinfo", ARM_CPUINFO)
    of_sme2(dry_run(lab, here, CONFIGS / "templates" / "android_template.json"), "android")
    of_the_kit(dry_run(lab, here, CONFIGS / "examples" / "android_mobilenet_fp16.json"), "android")


def test_a_phone_without_sme2_is_told_so(lab, phone, here):
    phone.phone.store.set("proc/cpuinfo", ARM_CPUINFO.replace(" sme sme2 smei16i32", ""))
    done = lab.run(
        [program.etprof(), "run", CONFIGS / "templates" / "android_template.json", "--dry-run"],
        cwd=here,
        env={**lab.environment, "ETPROF_RUNNER": str(here / "executorch/cmake-out/mac-arm64/executor_runner")},
    )
    assert done.returncode == 3
    assert 'Experiment "android_sme2_off": --isa: this CPU has no sme' in done.stderr
    assert program.one_error(done.stderr)


def test_those_of_a_board(lab, here):
    made(lab, Board, "board")
    text = (CONFIGS / "templates" / "board_template.json").read_text(encoding="utf-8").replace("BOARD", "board")
    (here / "board.json").write_text(text, encoding="utf-8")
    of_sme2(dry_run(lab, here, here / "board.json"), "linux-aarch64")
    of_sme2(dry_run(lab, here, CONFIGS / "examples" / "board_sme2_on_off.json"), "linux-aarch64")


def test_those_of_a_mac(lab, here):
    made(lab, Mac, "mac")
    of_sme2(dry_run(lab, here, CONFIGS / "templates" / "mac_template.json", "--device", "ssh:mac"), "mac")
    of_the_kit(dry_run(lab, here, CONFIGS / "examples" / "mac_mobilenet_fp16.json", "--device", "ssh:mac"), "mac")
