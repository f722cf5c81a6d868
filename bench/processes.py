"""What benchmarks of whole processes share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def cache(path: Path) -> None:
    """Into the page cache, anew, as whoever copies a file leaves it: of pages that others touched one by one, each is mapped alone.

    Piece by piece: a process's peak memory begins with that of the one that started it.
    """
    with path.open("rb") as file:
        if sys.platform == "linux":
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1 << 20):
            pass


def timed(command: Sequence[object]) -> tuple[float, int]:
    """Wall seconds and peak memory in bytes of one process; the pages of a file that it maps and touches count."""
    before = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - before
    if status != 0:
        sys.exit(f"failed: {command}")
    return seconds, usage.ru_maxrss * 1024
