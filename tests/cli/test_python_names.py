"""Names on the command line of the commands that are written in Python: `export` and `fleet`."""

import os
import subprocess

import pytest
from program import etprof, run


def test_names_do_not_reach_the_terminal_raw(tmp_path):
    hostile = tmp_path / "a\x1b[2J\u202eb"
    completed = run("fleet", "query", "coverage", "--from", hostile)
    assert completed.returncode == 3
    assert "\x1b" not in completed.stderr and "\u202e" not in completed.stderr
    assert r"a\x1b[2J\u202eb" in completed.stderr
    completed = run("fleet", "add", hostile, "--to", tmp_path / "fleet")
    assert completed.returncode == 3 and "\x1b" not in completed.stderr
    for arguments in (["export", "\x1b[2J"], ["export", "--outdir", "\x1b[2J", "none"]):
        completed = run(*arguments)
        assert completed.returncode != 0
        assert "\x1b" not in completed.stderr + completed.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [b"fleet", b"add", b"\xff", b"--to", b"fleet"],
        [b"fleet", b"query", b"coverage", b"--from", b"\xff"],
        [b"fleet", b"query", b"--set", b"a=\xff", b"coverage", b"--from", b"x"],
        [b"export", b"\xff"],
        [b"export", b"toy_cnn", b"--outdir", b"a\xffb"],
    ],
)
def test_arguments_that_are_not_utf8(arguments, tmp_path):
    completed = subprocess.run([os.fsencode(etprof()), *arguments], capture_output=True, cwd=tmp_path, check=False)
    assert completed.returncode == 2, completed.stderr
    lines = completed.stderr.decode().splitlines()
    assert len(lines) == 2 and lines[0].startswith("error: ") and "is not UTF-8" in lines[0] and "\\xff" in lines[0]
    assert list(tmp_path.iterdir()) == []
