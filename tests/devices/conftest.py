"""Real devices on the machine that tests: sshd, adbd, and a phone's commands around it. See README.md."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import AdbDevice, Lab, SshDevice


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A network of the test's own, without devices yet; everything on it is ended after the test."""
    made = Lab(tmp_path / "lab")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def board(lab: Lab) -> SshDevice:
    """A Linux board behind sshd."""
    return lab.ssh("board")


@pytest.fixture
def phone(lab: Lab) -> AdbDevice:
    """A phone behind adbd, which adb's server knows."""
    device = lab.adb("phone")
    device.connect()
    return device
