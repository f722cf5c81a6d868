"""The base class of the lab's devices: a folder, a daemon that can be cut off, and the programs that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from . import processes

if TYPE_CHECKING:
    from .lab import Lab


class Device:
    """A device. `folder` is etprof's folder on the device, below its $ETPROF_DEVICE_DIR."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name
        self.root = lab.root / name
        self.folder = self.root / "device" / "etprof"
        self.folder.mkdir(parents=True)
        self.port = lab.free_port()
        self.log = self.root / "daemon.log"
        self._mark = uuid.uuid4().hex
        self._daemon: subprocess.Popen[bytes] | None = None
        self._mounted = False

    # Members that the subclasses override.

    @property
    def spec(self) -> str:
        """The device's name for etprof's --device."""
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError

    def _daemon_environment(self) -> dict[str, str]:
        raise NotImplementedError

    # Members that all devices share.

    def device_environment(self) -> dict[str, str]:
        """The variables that every program on the device has."""
        return {processes.MARK: self._mark, "ETPROF_DEVICE_DIR": str(self.folder.parent)}

    def start(self) -> None:
        """Starts the daemon, on the same port each time."""
        with self.log.open("ab") as log:
            self._daemon = self.lab.start_daemon(self._command(), env=self._daemon_environment(), log=log)
        daemon = self._daemon

        def answers() -> bool:
            if daemon.poll() is not None:
                raise RuntimeError(f"{self.name}'s daemon ended at once:\n{self.log.read_text(errors='replace')}")
            return self.lab.is_listening(self.port)

        processes.wait_until(answers, f"{self.name}'s daemon to listen")

    def stop(self) -> None:
        """Kills the daemon and its sessions, as a pulled cable would end them. Programs that they started keep running."""
        if self._daemon is None:
            return
        self.freeze()  # so that no session begins while they are counted
        session_pids = self._session_pids()
        processes.send(session_pids, signal.SIGKILL)
        self._daemon.wait()
        self._daemon = None
        processes.wait_until(lambda: not any(map(processes.is_alive, session_pids)), f"{self.name}'s sessions to end")
        self._continue_programs()

    def reboot(self) -> None:
        """Ends the daemon and every program of the device, then starts the daemon again."""
        self.stop()
        self.kill_programs()
        self.start()

    def freeze(self) -> None:
        """Stops the daemon and its sessions without closing a connection: clients get no more data."""
        previous: list[int] = []
        while (session_pids := self._session_pids()) != previous:
            processes.send(session_pids, signal.SIGSTOP)
            previous = session_pids

    def thaw(self) -> None:
        """Continues the daemon and its sessions after freeze()."""
        processes.send(self._session_pids(), signal.SIGCONT)
        self._continue_programs()

    def _continue_programs(self) -> None:
        # A process that was about to execute a program of the device when the daemon was stopped was stopped, too.
        processes.send(list(self.processes()), signal.SIGCONT)

    def _session_pids(self) -> list[int]:
        return [] if self._daemon is None else processes.same_named_descendants(self._daemon.pid)

    def processes(self) -> dict[int, str]:
        """The command lines of the device's running programs by process id, without the daemon."""
        daemon_pids = set(self._session_pids())
        return {pid: line for pid, line in processes.marked(self._mark).items() if pid not in daemon_pids}

    def kill_programs(self) -> None:
        """Ends every program of the device."""
        while running := self.processes():
            processes.send(list(running), signal.SIGKILL)

    def files(self) -> dict[str, int]:
        """The sizes in bytes of all files below `folder`, except for the file that marks it and files that etprof removes
        meanwhile."""
        sizes = {}
        for parent, _, names in os.walk(self.folder):
            for path in (Path(parent) / name for name in names):
                with contextlib.suppress(FileNotFoundError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode) and path.name != ".etprof":
                        sizes[str(path.relative_to(self.folder))] = status.st_size
        return dict(sorted(sizes.items()))

    def full_disk(self, size: int) -> None:
        """Gives the device an empty disk of `size` bytes (rounded up to pages), which hides earlier files."""
        self.lab.need_root("a small disk is a tmpfs")
        if self._mounted:
            subprocess.run(["/bin/umount", self.folder], check=True)
        subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.folder], check=True)
        self._mounted = True

    def close(self) -> None:
        """Ends the daemon and all programs of the device."""
        self.stop()
        self.kill_programs()
        if self._mounted:
            subprocess.run(["/bin/umount", "--lazy", self.folder], check=False)
            self._mounted = False
