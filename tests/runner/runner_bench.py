"""Runs the runner under test as a program or as a worker, and reads its files with independent readers."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(os.environ.get("ETPROF_RUNNER", ROOT / "build" / "etprof-runner"))
DATA = ROOT / "tests" / "data"
TIMEOUT = 600  # seconds; a hang is a failure


def skip(reason: str) -> None:
    """Skips the test. In CI, where all dependencies must be installed, a skip is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"would be skipped, and CI allows that for CPU features only: {reason}")
    pytest.skip(reason)


def library(folder: Path, source: str, **macros: str) -> Path:
    """Compiles a library for --load into `folder` from a source of this folder."""
    executorch = Path(importlib.util.find_spec("executorch").submodule_search_locations[0])
    if not (executorch / "include").is_dir() or shutil.which("c++") is None:
        skip("no C++ compiler, or no headers of ExecuTorch")
    shared_library = (folder / source).with_suffix(".so")
    include_folders = [executorch / "include", executorch / "include/executorch/runtime/core/portable_type/c10"]
    command = ["c++", "-std=c++20", "-shared", "-fPIC", "-O0", "-DC10_USING_CUSTOM_GENERATED_MACROS"]
    command += [f"-D{name}={value}" for name, value in macros.items()]
    command += [argument for include_folder in include_folders for argument in ("-isystem", str(include_folder))]
    subprocess.run([*command, Path(__file__).with_name(source), "-o", shared_library], check=True)
    return shared_library


class Run:
    """A finished process of the runner."""

    def __init__(self, runner: Path, *args: object, env: dict[str, str] | None = None) -> None:
        completed = subprocess.run(
            [runner, *map(str, args)],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
            errors="replace",
            env={**os.environ, **(env or {})},
        )
        self.code, self.out, self.err = completed.returncode, completed.stdout, completed.stderr

    def error_line(self, code: int) -> str:
        """Returns the single line of the error, which ends with the remedy as a sentence."""
        assert self.code == code, (self.code, self.out, self.err)
        lines = [line for line in self.err.splitlines() if not line.startswith("etprof-runner: warning: ")]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("etprof-runner: ")
        assert lines[0][-1] in ".?!", f"no remedy: {lines[0]}"
        return lines[0]


class Worker:
    """A worker process with its pipes."""

    def __init__(self, runner: Path, *args: object, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [runner, "--worker", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.ready = self.read()
        assert self.ready["reply"] == "ready"

    def read(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), (line, self.process.stderr.read())
        return json.loads(line)

    def send_raw(self, line: bytes) -> None:
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, cmd: str, **fields: object) -> dict[str, Any]:
        """Returns the reply. An error reply fails the test."""
        self.send_raw(json.dumps({"cmd": cmd, **fields}, default=str).encode() + b"\n")
        reply = self.read()
        assert reply.get("reply") == cmd, reply
        return reply

    def expect_error(self, cmd: str, **fields: object) -> str:
        """Returns the text of an error reply."""
        self.send_raw(json.dumps({"cmd": cmd, **fields}, default=str).encode() + b"\n")
        reply = self.read()
        assert reply["cmd"] == cmd
        return reply["error"]

    def close(self) -> int:
        """Closes stdin, and returns the exit code."""
        self.process.stdin.close()
        code = self.process.wait(TIMEOUT)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def read_safetensors(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    """Returns name -> dtype, shape, bytes. This reader is independent of the runner's reader, so that it does not have the same bugs."""
    contents = path.read_bytes()
    (length,) = struct.unpack("<Q", contents[:8])
    header = json.loads(contents[8 : 8 + length])
    header.pop("__metadata__", None)
    data = contents[8 + length :]
    return {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()
    }


def write_inputs(path: Path, tensors: dict[str, tuple[str, list[int], bytes]], metadata: dict[str, str]) -> Path:
    """Writes a .inputs file without etprof's writer, and returns its path."""
    header: dict[str, Any] = {"__metadata__": {"format": "etprof-inputs-1", **metadata}}
    blob = b""
    for name, (dtype, shape, contents) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(blob), len(blob) + len(contents)]}
        blob += contents
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)
    return path


def events(path: Path) -> list[tuple[str, list[tuple[str, int, int]]]]:
    """Reads the blocks of an ETDump with ExecuTorch's own reader: (block, [(event, start, end)])."""
    try:
        from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc
    except ImportError:
        skip("executorch's Python devtools are not installed")
    dump = deserialize_from_etdump_flatcc(path.read_bytes())
    blocks = []
    for run in dump.run_data:
        spans = [e.profile_event for e in run.events if e.profile_event is not None]
        blocks.append((run.name, [(s.name or s.delegate_debug_id_str, s.start_time, s.end_time) for s in spans]))
    return blocks
