"""Helpers of the tests that measure."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE_WORKER = pathlib.Path(__file__).with_name("fake_worker.py")
FAKE_RUNNER = pathlib.Path(__file__).with_name("fake_runner.py")
MODEL = ROOT / "tests" / "data" / "toy_cnn.pte"

# The workers' `env python3` is this Python, because it starts ten times as fast as a version manager's wrapper.
os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def skip(reason: str) -> None:
    """Skips the test with a reason. In CI, a skip is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot be skipped in CI: {reason}")
    pytest.skip(reason)


def program(name: str, variable: str) -> pathlib.Path:
    path = pathlib.Path(os.environ.get(variable, ROOT / "build" / name))
    if not path.exists():
        skip(f"{path} is not built")
    return path.resolve()


@contextlib.contextmanager
def held_worker(bench: "Bench", launch: int = 5, burst: int = 1) -> Iterator[dict[str, str]]:
    """Returns an environment in which the worker waits at a burst of its launch until the context ends, so that the launch
    cannot finish before the test observes it. A worker that only reports its properties counts as a launch."""
    file = bench.folder / "hold"
    file.touch()
    try:
        yield {"FAKE_HOLD": f"{file}:{launch}:{burst}"}
    finally:
        file.unlink()


def has_child(name: str, parent: int) -> bool:
    """Returns whether a process has a child with this name."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # the process may have ended
            stat = (entry / "stat").read_text()
            if (
                stat[stat.index("(") + 1 : stat.rindex(")")] == name
                and int(stat[stat.rindex(")") :].split()[2]) == parent
            ):
                return True
    return False


class Bench:
    """A folder with a configuration, and the etprof that runs it."""

    def __init__(self, folder: pathlib.Path, etprof: pathlib.Path):
        self.folder = folder
        self.etprof = etprof
        self.out = folder / "out"

    def experiment(self, name: str, **keys) -> dict:
        environment = {"FAKE_STATE": str(self.folder / f"state_{name}")} | keys.pop("env", {})
        return {"name": name, "runner_path": str(FAKE_WORKER), "runs": 10, "env": environment} | keys

    def write(self, experiments: list, **keys) -> pathlib.Path:
        config = {"model": str(MODEL), "output_root": str(self.out), "experiments": experiments} | keys
        path = self.folder / "config.json"
        path.write_text(json.dumps(config))
        return path

    def start(self, *arguments, **keys) -> subprocess.Popen:
        command = [str(self.etprof), *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keys
        )

    def run(self, *arguments, **keys) -> subprocess.CompletedProcess:
        process = self.start(*arguments, **keys)
        out, err = process.communicate(timeout=900)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def manifest(self) -> dict:
        return json.loads((self.out / "manifest.json").read_text())

    def result(self, name: str) -> dict:
        return next(r for r in self.manifest()["results"] if r["experiment"] == name)

    def last_error(self, result: subprocess.CompletedProcess) -> str:
        """Returns the last error of a command and its hint on one line."""
        lines = result.stderr.splitlines()
        errors = [number for number, line in enumerate(lines) if line.startswith("error: ")]
        return " ".join(lines[errors[-1] :]) if errors else ""
