"""A phone behind Android's real debug daemon, as Debian packages it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .device import Device
from .phone import Cluster, Phone
from .processes import wait_until

if TYPE_CHECKING:
    from .lab import Lab

REPOSITORY = Path(__file__).resolve().parents[3]


def _fetched_adbd() -> Path:
    script = REPOSITORY / "script" / "fetch-adbd"
    completed = subprocess.run([script], capture_output=True, text=True, check=False)
    if completed.returncode != 0:
        pytest.skip(f"adbd could not be fetched: {completed.stderr.strip()}")
    return Path(completed.stdout.strip())


class AdbDevice(Device):
    """A phone. `phone` has the state that its commands and its sysfs show, and `serial` is its name for `adb -s`."""

    def __init__(self, lab: Lab, name: str, abi: str, clusters: list[Cluster] | None) -> None:
        self._adbd = _fetched_adbd()
        super().__init__(lab, name)
        self.phone = Phone(self.root / "state", self.root / "bin", name=name, abi=abi, clusters=clusters)
        qemu = REPOSITORY / "build" / "tools" / "qemu-aarch64"
        if qemu.exists():
            (self.root / "bin" / "qemu-aarch64").symlink_to(qemu)

    @property
    def serial(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def spec(self) -> str:
        return f"adb:{self.serial}"

    def device_environment(self) -> dict[str, str]:
        return {**super().device_environment(), **self.phone.environment}

    def _command(self) -> list[str]:
        return [str(self._adbd)]

    def _daemon_environment(self) -> dict[str, str]:
        return {
            **self.device_environment(),
            "ADBD_PORT": str(self.port),
            "PATH": f"{self.root / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "ANDROID_ROOT": "/system",
            "ANDROID_DATA": "/data",
        }

    def adb(self, *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs the plain adb client on this phone."""
        return self.lab.run(["adb", "-s", self.serial, *arguments], **options)

    def shell(self, command: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs a command on the phone with the plain adb client."""
        return self.adb("shell", command, **options)

    def connect(self) -> None:
        """Connects adb's server to the phone, as `adb connect` does. Call it again after start()."""

        def is_connected() -> bool:
            self.lab.run(["adb", "connect", self.serial])
            return self.adb("get-state").stdout.strip() == "device"

        wait_until(is_connected, f"adb to connect to {self.serial}")
