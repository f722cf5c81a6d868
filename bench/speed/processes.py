"""What benchmarks of whole processes share."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def cache(path: Path, *, page_by_page: bool = False) -> None:
    """Into the page cache, anew: as reading it from its beginning to its end leaves it, or page by page.

    Page by page is how file systems without large folios keep all files, and each page is mapped by itself. Where none can
    be had anew (macOS), it stays as it is. In pieces: a process's peak memory begins with that of the one that started it.
    """
    with path.open("rb") as file:
        if sys.platform == "linux":
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if page_by_page:
                with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
                    pages.madvise(mmap.MADV_RANDOM)  # nothing is read ahead
                    for at in range(0, len(pages), mmap.PAGESIZE):
                        pages[at]
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
