"""What the devices of the lab have in common: a folder, a daemon that can be cut off, and the programs that it started."""

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
    """A device: `folder` is where etprof puts everything that it puts there, below its $ETPROF_DEVICE_DIR."""

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

    # What the kinds of devices differ in.

    @property
    def spec(self) -> str:
        """What etprof's --device is given."""
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError

    def _daemon_environment(self) -> dict[str, str]:
        raise NotImplementedError

    # What they share.

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
        """Ends the daemon and its sessions at once, as a pulled cable would: what they had started keeps running."""
        if self._daemon is None:
            return
        self.freeze()  # so that no session begins while they are counted
        family = self._family()
        processes.send(family, signal.SIGKILL)
        self._daemon.wait()
        self._daemon = None
        processes.wait_until(lambda: not any(map(processes.is_alive, family)), f"{self.name}'s sessions to end")
        self._go_on()

    def reboot(self) -> None:
        """Ends the daemon and every program of the device, then starts the daemon again."""
        self.stop()
        self.kill_programs()
        self.start()

    def freeze(self) -> None:
        """Stops the daemon and its sessions without closing a connection: the other side hears nothing any more."""
        before: list[int] = []
        while (family := self._family()) != before:
            processes.send(family, signal.SIGSTOP)
            before = family

    def thaw(self) -> None:
        """Lets them go on after freeze()."""
        processes.send(self._family(), signal.SIGCONT)
        self._go_on()

    def _go_on(self) -> None:
        # What was becoming a program of the device while the daemon was stopped was stopped with it.
        processes.send(list(self.processes()), signal.SIGCONT)

    def _family(self) -> list[int]:
        return [] if self._daemon is None else processes.same_named_descendants(self._daemon.pid)

    def processes(self) -> dict[int, str]:
        """The command lines, by process id, of what the device's user runs now; the daemon itself is not among them."""
        own = set(self._family())
        return {pid: line for pid, line in processes.marked(self._mark).items() if pid not in own}

    def kill_programs(self) -> None:
        """Ends every program of the device."""
        while running := self.processes():
            processes.send(list(running), signal.SIGKILL)

    def files(self) -> dict[str, int]:
        """Every file below `folder` but the one that marks it, with its size in bytes. What etprof removes meanwhile is
        left out."""
        found = {}
        for parent, _, names in os.walk(self.folder):
            for path in (Path(parent) / name for name in names):
                with contextlib.suppress(FileNotFoundError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode) and path.name != ".etprof":
                        found[str(path.relative_to(self.folder))] = status.st_size
        return dict(sorted(found.items()))

    def full_disk(self, size: int) -> None:
        """Gives the device a disk of `size` bytes (rounded up to pages), empty at first; what was there is hidden."""
        self.lab.need_root("a small disk is a tmpfs")
        if self._mounted:
            subprocess.run(["/bin/umount", self.folder], check=True)
        subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.folder], check=True)
        self._mounted = True

    def close(self) -> None:
        """Ends everything of the device."""
        self.stop()
        self.kill_programs()
        if self._mounted:
            subprocess.run(["/bin/umount", "--lazy", self.folder], check=False)
            self._mounted = False
