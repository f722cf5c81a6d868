"""Runs a command with an emulated phone, which is removed afterwards: `emulated_phone.py COMMAND...`.

In the command, {device} is replaced by the phone's name as --device takes it. adb, its daemon, and the aarch64 programs are
real. The phone's CPU (QEMU), its commands, and its sysfs are emulated (README.md). `script/demo --device emulated` uses this.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from lab import Lab


def main() -> int:
    command = sys.argv[1:]
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="etprof-phone-") as folder:
        lab = Lab(Path(folder) / "lab")
        try:
            phone = lab.adb("phone")
            phone.connect()
            process: subprocess.Popen = lab.popen([word.replace("{device}", phone.spec) for word in command])
            try:
                return process.wait()
            except KeyboardInterrupt:  # the command has also received it
                return process.wait()
        finally:
            lab.close()


if __name__ == "__main__":
    sys.exit(main())
