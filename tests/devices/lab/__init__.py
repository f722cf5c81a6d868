"""Devices for the tests: real daemons (sshd, adbd) on a separate network, and a phone's commands that keep state."""

from .adb import AdbDevice
from .device import Device
from .lab import Lab
from .phone import Cluster, Phone
from .ssh import SshDevice

__all__ = ["AdbDevice", "Cluster", "Device", "Lab", "Phone", "SshDevice"]
