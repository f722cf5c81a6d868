"""Talks to `etprof-runner --worker` (src/protocol/messages.h): one JSON object per line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType


class Worker:
    """A warm worker with one model loaded; ends with its context."""

    def __init__(self, runner: Path, model: Path, isa: str = "all", threads: int = 1, **load: object) -> None:
        command = [str(runner), "--worker", f"--cpu_threads={threads}"]
        if isa != "all":
            command.append(f"--isa={isa}")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._read()
        self.ask(cmd="load", model=str(model), **load)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=20)

    def _read(self) -> dict:
        reply = json.loads(self._process.stdout.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply

    def ask(self, **request: object) -> dict:
        """Sends one request and returns its reply; raises RuntimeError with the worker's message."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()
