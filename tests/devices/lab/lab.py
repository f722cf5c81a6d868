"""A separate network for a test, with devices on it and functions that run etprof there."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from . import processes
from .adb import AdbDevice
from .phone import Cluster
from .ssh import SshDevice

REPOSITORY = Path(__file__).resolve().parents[3]


class Lab:
    """The network of the devices.

    For root, the network is a namespace with only a loopback interface, so that no daemon is reachable from outside
    and all ports are free. Programs that use a device are started with run() or popen(). For other users, the network
    is the machine's, which can have only ssh devices (sshd listens on 127.0.0.1, adbd on every address).
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir(parents=True, exist_ok=True)
        self.home = root / "home"
        self.home.mkdir()
        self.ssh_config = root / "ssh_config"
        self.known_hosts = root / "known_hosts"
        for path in (self.ssh_config, self.known_hosts):
            path.touch()
        self.devices: list[SshDevice | AdbDevice] = []
        self._next_port = 20000
        self._adb_server: subprocess.Popen[bytes] | None = None
        self._adb_port = 0
        self._namespace: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0 and shutil.which("unshare") and shutil.which("nsenter") and shutil.which("ip"):
            self._make_namespace()

    def _make_namespace(self) -> None:
        # The namespace exists as long as this process: `cat` ends with its standard input, even if this process is killed.
        namespace = subprocess.Popen(
            ["/usr/bin/env", "unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert namespace.stdout is not None
        if namespace.stdout.readline() == b"up\n":
            self._namespace = namespace
        else:
            namespace.wait()

    # --- devices ---

    def ssh(self, name: str = "board") -> SshDevice:
        """Starts a device that a real sshd on this lab's loopback serves. `name` is its ssh alias."""
        device = SshDevice(self, name)
        self.devices.append(device)
        device.start()
        return device

    def adb(self, name: str = "phone", *, abi: str = "arm64-v8a", clusters: list[Cluster] | None = None) -> AdbDevice:
        """Starts a phone that a real adbd serves. connect() connects adb to it."""
        self.need_root("adbd listens on every address, so the test gives it a network of its own")
        if self._namespace is None:
            pytest.skip("network namespaces (unshare, nsenter, ip) are needed for a phone")
        self.start_adb_server()
        device = AdbDevice(self, name, abi, clusters)
        self.devices.append(device)
        device.start()
        return device

    @property
    def qemu(self) -> Path:
        """qemu-aarch64 with SME2, to run aarch64 programs. Skips the test if it was not fetched."""
        path = REPOSITORY / "build" / "tools" / "qemu-aarch64"
        if not path.exists():
            pytest.skip(f"{path.relative_to(REPOSITORY)} is not there: run script/fetch-qemu")
        return path

    # --- running programs in the lab ---

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which etprof and other programs reach the devices."""
        lab_variables = {
            "HOME": str(self.home),
            "ETPROF_SSH": f"ssh -F {self.ssh_config}",
            "ANDROID_ADB_SERVER_PORT": str(self._adb_port or 5037),
        }
        user_variables = ("SSH_AUTH_SOCK", "ANDROID_SERIAL", "ANDROID_ADB_SERVER_ADDRESS", "ADB_SERVER_SOCKET")
        return {**{key: value for key, value in os.environ.items() if key not in user_variables}, **lab_variables}

    def command(self, argv: list[Any]) -> list[str]:
        """The command that runs `argv` on the lab's network. The process is `argv` itself, not a child of a wrapper."""
        arguments = [str(argument) for argument in argv]
        return (
            arguments
            if self._namespace is None
            else ["nsenter", "-t", str(self._namespace.pid), "-n", "--", *arguments]
        )

    def run(self, argv: list[Any], **options: Any) -> subprocess.CompletedProcess[str]:
        """Calls subprocess.run on the lab's network. By default it captures text, and times out after five minutes."""
        defaults: dict[str, Any] = {"text": True, "timeout": 300, "env": self.environment}
        if not {"stdout", "stderr", "capture_output"} & options.keys():
            defaults["capture_output"] = True
        return subprocess.run(self.command(argv), check=options.pop("check", False), **{**defaults, **options})

    def popen(self, argv: list[Any], **options: Any) -> subprocess.Popen[Any]:
        """subprocess.Popen on the lab's network."""
        return subprocess.Popen(self.command(argv), **{"env": self.environment, **options})

    def start_daemon(self, argv: list[Any], *, env: dict[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts a daemon on the lab's network that ends with this process."""
        command = self.command(["setpriv", "--pdeathsig", "KILL", *argv])
        return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    # --- for the devices ---

    def need_root(self, reason: str) -> None:
        """Skips the test when it does not run as root."""
        if os.geteuid() != 0:
            pytest.skip(f"root is needed: {reason}")

    def free_port(self) -> int:
        """A TCP port that nobody uses."""
        if self._namespace is not None:
            self._next_port += 1
            return self._next_port
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    def is_listening(self, port: int) -> bool:
        """True if a process listens on a port of this lab. Reads this from the kernel, without a connection."""
        return "0A" in self._states(port)

    def is_connected(self, port: int) -> bool:
        """True if a client is connected to a port of this lab. The server may not have accepted the connection yet."""
        return "01" in self._states(port)

    def _states(self, port: int) -> set[str]:
        # The states are numbers of Linux's include/net/tcp_states.h.
        pid = "self" if self._namespace is None else self._namespace.pid
        states = set()
        for table in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                    local, state = line.split()[1], line.split()[3]
                    if int(local.rsplit(":", 1)[1], 16) == port:
                        states.add(state)
        return states

    def add_ssh_host(self, config: str, known_host: str) -> None:
        """Adds a device to the files that `ssh -F ssh_config` reads."""
        with self.ssh_config.open("a") as file:
            file.write(config)
        with self.known_hosts.open("a") as file:
            file.write(known_host)

    def start_adb_server(self) -> None:
        """Starts adb's server on this lab, unless it runs. Without a server, a client would start one that stays."""
        if self._adb_server is not None:
            return
        if shutil.which("adb") is None:
            pytest.skip("adb is not installed: run script/bootstrap --dev")
        port = self._adb_port = self.free_port()
        log = self.root / "adb-server.log"
        with log.open("ab") as file:
            self._adb_server = self.start_daemon(
                ["adb", "-P", port, "nodaemon", "server"], env={**self.environment, "ADB_MDNS": "0"}, log=file
            )
        processes.wait_until(lambda: self.is_listening(port), "adb's server to listen")

    def close(self) -> None:
        """Ends all devices and daemons of this lab."""
        for device in self.devices:
            device.close()
        for process in (self._adb_server, self._namespace):
            if process is not None:
                process.kill()
                process.wait()
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        pipe.close()
