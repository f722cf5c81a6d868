"""Finds processes of this machine in /proc: the daemons' sessions, and the programs that a device has started."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Every program that a device starts has this variable in its environment, by which the tests find the program.
MARK = "ETPROF_LAB_DEVICE"


def _numbers() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def stat(pid: int) -> tuple[str, str, int] | None:
    """The name, state (`R`, `S`, `T`, `Z`, ...), and parent of a process; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name = text[text.index("(") + 1 : text.rindex(")")]
    state, parent = text[text.rindex(")") + 2 :].split()[:2]
    return name, state, int(parent)


def is_alive(pid: int) -> bool:
    process = stat(pid)
    return process is not None and process[1] not in "ZX"


def marked(mark: str) -> dict[int, str]:
    """The command lines, by process id, of the living programs of the device with this mark."""
    variable = f"{MARK}={mark}".encode()
    command_lines = {}
    for pid in _numbers():
        # A process may end, or be another user's, between being listed and being read.
        with contextlib.suppress(OSError):
            if variable not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                continue
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            if is_alive(pid):
                command_lines[pid] = b" ".join(arguments).decode(errors="replace")
    return command_lines


def same_named_descendants(pid: int) -> list[int]:
    """A daemon and the processes that it has forked to serve sessions, without the programs that these have started."""
    root = stat(pid)
    if root is None:
        return []
    children: dict[int, list[int]] = {}
    for other in _numbers():
        process = stat(other)
        if process is not None and process[0] == root[0]:
            children.setdefault(process[2], []).append(other)
    session_pids = [pid]
    for member in session_pids:  # grows while it is walked
        session_pids.extend(children.get(member, []))
    return session_pids


def send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until(condition: Callable[[], object], description: str, seconds: float = 240.0) -> None:
    """Waits for a condition. Raises TimeoutError with `description` if the condition stays false."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{description}: not within {seconds:g} s")
        time.sleep(0.02)
