"""A device behind a real sshd with separate keys, port, and configuration, independent of the system's sshd."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .device import Device

if TYPE_CHECKING:
    from .lab import Lab


class SshDevice(Device):
    """A device that `ssh -F lab.ssh_config NAME` reaches."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") or ""
        keygen = shutil.which("ssh-keygen")
        if not self._sshd or keygen is None:
            pytest.skip("sshd is not installed: run script/bootstrap --dev")
        account = pwd.getpwuid(os.getuid())
        if Path(account.pw_shell).name in ("nologin", "false"):
            pytest.skip(f"{account.pw_name} may not log in, so no sshd serves it")
        super().__init__(lab, name)
        for key in ("host_key", "user_key"):
            subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", self.root / key], check=True)
        (self.root / "authorized_keys").write_text((self.root / "user_key.pub").read_text())
        self._write_server_config()
        lab.add_ssh_host(
            f"Host {name}\n"
            "  HostName 127.0.0.1\n"
            f"  Port {self.port}\n"
            f"  User {account.pw_name}\n"
            f"  IdentityFile {self.root / 'user_key'}\n"
            "  IdentitiesOnly yes\n"
            "  StrictHostKeyChecking yes\n"
            f"  UserKnownHostsFile {lab.known_hosts}\n"
            "  GlobalKnownHostsFile none\n",
            f"[127.0.0.1]:{self.port} {(self.root / 'host_key.pub').read_text()}",
        )

    def _write_server_config(self) -> None:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # privilege separation needs it
        # A separate home, since the user's login shell may do things at its start that a device does not, and take long.
        environment = {"HOME": str(self.root), **self.device_environment()}
        variables = " ".join(f'"{key}={value}"' for key, value in environment.items())
        (self.root / "sshd_config").write_text(
            f"Port {self.port}\n"
            "ListenAddress 127.0.0.1\n"
            f"HostKey {self.root / 'host_key'}\n"
            f"AuthorizedKeysFile {self.root / 'authorized_keys'}\n"
            "StrictModes no\n"  # the tests' folders may belong to anybody
            "PidFile none\n"
            "PermitRootLogin prohibit-password\n"
            "PasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\n"
            "UsePAM no\n"
            "MaxStartups 100\n"
            "LogLevel VERBOSE\n"
            "Subsystem sftp internal-sftp\n"
            f"SetEnv {variables}\n"
        )

    def set_login_shell(self, script: str) -> None:
        """Makes every session run this shell script, which gets the client's command in $SSH_ORIGINAL_COMMAND."""
        path = self.root / "login-shell"
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)
        self.stop()
        with (self.root / "sshd_config").open("a") as file:
            file.write(f"ForceCommand {path}\n")
        self.start()

    @property
    def spec(self) -> str:
        return f"ssh:{self.name}"

    def _command(self) -> list[str]:
        return [self._sshd, "-D", "-e", "-f", str(self.root / "sshd_config")]

    def _daemon_environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"]}

    def shell(self, command: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs a command on the device with the plain ssh client."""
        return self.lab.run(["ssh", "-F", self.lab.ssh_config, self.name, command], **options)
