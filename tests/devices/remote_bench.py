"""Helpers of the tests of remote devices, which run etprof and wait for its messages."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program
from program import wait_until

MODEL = program.DATA / "toy_cnn.pte"
SHORT = ["--launches", "2", "--max-seconds", "4", "--runs", "8"]


def runner() -> Path:
    return program.etprof().parent / "etprof-runner"


def profile(device, folder: Path, *arguments: str) -> list[str]:
    command = [str(program.etprof()), "profile", str(MODEL), "--device", device.spec, "--output-root", str(folder)]
    return [*command, "--runner", str(runner()), *arguments]


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())


def launches(folder: Path, status: str) -> int:
    """Counts the launches with a status. A launch with too few clean runs, due to other tests' load, is replaced by another."""
    return sum(launch["status"] == status for result in manifest(folder)["results"] for launch in result["launches"])


def run_folders(device) -> list[str]:
    return [name for name in device.files() if name.startswith("runs/")]


def wait_until_clean(device) -> None:
    """Waits until the device has no programs and no run folders. After a broken connection, they may remain for a moment."""
    wait_until(lambda: device.processes() == {} and run_folders(device) == [])


class EtprofProcess:
    """A running etprof, with its stderr in a file."""

    def __init__(self, lab, folder: Path, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.log = folder.parent / f"{folder.name}.stderr"
        with self.log.open("w") as log:
            options = {"env": {**os.environ, **environment}} if environment else {}
            self.process = lab.popen(command, stdout=subprocess.PIPE, stderr=log, text=True, **options)

    def text(self) -> str:
        return self.log.read_text()

    def wait_for(self, text_to_find: str) -> None:
        wait_until(lambda: text_to_find in self.text() or self.process.poll() is not None)
        assert text_to_find in self.text()

    def wait_for_a_launch(self, folder: Path) -> None:
        """Waits until the first launch is stored. The measurement continues."""

        def has_launch() -> bool:
            return (folder / "manifest.json").exists() and launches(folder, "complete") >= 1

        wait_until(lambda: has_launch() or self.process.poll() is not None)
        assert self.process.poll() is None, self.text()

    def end(self, seconds: float = 600) -> int:
        self.process.communicate(timeout=seconds)
        return self.process.returncode
