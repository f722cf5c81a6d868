"""Shared functions of benches that measure whole processes."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def cache(path: Path, *, page_by_page: bool = False) -> None:
    """Reads a file into the page cache again, from its beginning to its end or page by page.

    File systems without large folios cache all files page by page, and map each page separately. On macOS, cached pages
    cannot be dropped, so they stay. The file is read in pieces, since a child process inherits the peak memory of this one.
    """
    with path.open("rb") as file:
        if sys.platform == "linux":
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if page_by_page:
                with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
                    pages.madvise(mmap.MADV_RANDOM)  # no read-ahead
                    for at in range(0, len(pages), mmap.PAGESIZE):
                        pages[at]
        while file.read(1 << 20):
            pass


def measure_process(command: Sequence[object]) -> tuple[float, int]:
    """Returns wall seconds and peak memory (bytes) of a process. Pages of mapped files count if it touches them."""
    before = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - before
    if status != 0:
        sys.exit(f"failed: {command}")
    return seconds, usage.ru_maxrss * 1024
