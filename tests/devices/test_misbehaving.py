"""Devices whose shell prints what it should not, prints without end, ends at once, or never answers."""

import sys
import time
from pathlib import Path

import pytest
from remote_bench import SHORT, profile, run_folders, wait_until

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program

RUN = 'exec sh -c "$SSH_ORIGINAL_COMMAND"\n'
LOUD_UNAME = "#!/bin/sh\nhead -c 60000000 /dev/zero | tr '\\0' x\n"
SECONDS = 60  # a limit of the whole command, far above its own limits


@pytest.fixture
def phone(lab):
    """A phone for which this machine's runner is built."""
    device = lab.adb("phone", abi="x86_64")
    device.connect()
    return device


@pytest.mark.parametrize(
    ("shell", "message"),
    [
        (
            "printf 'Welcome \\033[31mto\\007 board\\n'\n" + RUN,
            "prints text of its own: `Welcome \\x1b[31mto\\x07 board`",
        ),
        ("exec yes loud\n", "prints text of its own and does not run a command: `loud`"),
        ("head -c 60000000 /dev/zero | tr '\\0' x\n" + RUN, "prints text of its own and does not run a command: `xxx"),
        ("exit 3\n", "its shell exited with 3 without running a command"),
    ],
    ids=["banner", "endless", "60 MB", "ends"],
)
@pytest.mark.parametrize("command", ["profile", "devices"])
def test_a_login_shell_that_misbehaves(lab, board, tmp_path, command, shell, message):
    board.set_login_shell(shell)
    start = time.monotonic()
    argv = [program.etprof(), "devices", "--device", board.spec, "--timeout", "30"]
    completed = lab.run(profile(board, tmp_path / "run", *SHORT) if command == "profile" else argv)
    assert time.monotonic() - start < SECONDS
    assert message in " ".join((completed.stdout + completed.stderr).split()), completed.stdout + completed.stderr
    assert "\x1b" not in completed.stdout + completed.stderr
    assert run_folders(board) == []
    wait_until(lambda: board.processes() == {})
    if command == "profile":
        assert completed.returncode == 4
        assert len(max(completed.stderr.splitlines(), key=len)) < 300


def test_a_login_shell_that_never_answers(lab, board):
    board.set_login_shell("exec sleep 1000\n")
    start = time.monotonic()
    completed = lab.run([program.etprof(), "devices", "--device", board.spec, "--timeout", "3"])
    assert time.monotonic() - start < SECONDS
    assert "did not answer within 3 s" in completed.stdout + completed.stderr


@pytest.mark.parametrize("kind", ["board", "phone"])
@pytest.mark.parametrize("command", ["profile", "devices"])
def test_a_uname_without_end(lab, request, tmp_path, kind, command):
    device = request.getfixturevalue(kind)
    if kind == "board":
        (board_bin := device.root / "bin").mkdir()
        device.set_login_shell(f"PATH={board_bin}:$PATH\n{RUN}")
    uname = device.root / "bin" / "uname"
    uname.unlink(missing_ok=True)
    uname.write_text(LOUD_UNAME)
    uname.chmod(0o755)
    start = time.monotonic()
    argv = [program.etprof(), "devices", "--device", device.spec, "--timeout", "30"]
    completed = lab.run(profile(device, tmp_path / "run", *SHORT) if command == "profile" else argv)
    assert time.monotonic() - start < SECONDS
    assert "answered with more than 16" in completed.stdout + completed.stderr
    assert run_folders(device) == []


@pytest.mark.parametrize("kind", ["board", "phone"])
def test_a_file_that_grows_while_it_is_fetched(lab, request, tmp_path, kind):
    """The device announces 10 bytes for each file that is fetched, and sends far more."""
    device = request.getfixturevalue(kind)
    folder = device.root / "bin"
    folder.mkdir(exist_ok=True)
    wc = folder / "wc"
    wc.write_text("#!/bin/sh\necho 10\n")
    wc.chmod(0o755)
    if kind == "board":
        (folder / "cat").write_text(
            '#!/bin/sh\ncase "$*" in *etdump*) exec head -c 3000000000 /dev/zero;; *) exec /bin/cat "$@";; esac\n'
        )
        (folder / "cat").chmod(0o755)
        device.set_login_shell(f"PATH={folder}:$PATH\n{RUN}")
    completed = lab.run(profile(device, tmp_path / "run", *SHORT))
    assert completed.returncode != 0
    assert "could not be fetched from the device" in completed.stderr
    sizes = [path.stat().st_size for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert max(sizes) < 20_000_000
    assert not list((tmp_path / "run").rglob("*.part"))
    assert run_folders(device) == []


def test_a_file_larger_than_any_that_is_read_is_not_fetched(lab, board, tmp_path):
    folder = board.root / "bin"
    folder.mkdir()
    (folder / "wc").write_text("#!/bin/sh\necho 9000000000\n")
    (folder / "wc").chmod(0o755)
    board.set_login_shell(f"PATH={folder}:$PATH\n{RUN}")
    completed = lab.run(profile(board, tmp_path / "run", *SHORT))
    assert completed.returncode != 0
    assert "it has 9.00 GB, " in completed.stderr
